"""Runs clpeak's measurements, which build large kernels of arithmetic at each vector width. It checks no results."""

import re
import time

from common import Skip, case, ended, run, spent, version

TESTS = [
    "--global-bandwidth", "--compute-sp", "--compute-dp", "--compute-integer", "--compute-intfast", "--transfer-bandwidth",
    "--kernel-latency",
]  # fmt: skip
LIMIT = 200


def main():
    version(run(["dpkg-query", "-W", "-f", "${Version}", "clpeak"])[1].split("-")[0])
    start = time.monotonic()
    for test in TESTS:
        with case(test.removeprefix("--")):
            status, output = run(["clpeak", test], LIMIT)
            print(output, flush=True)
            assert status == 0, ended(status, LIMIT)
            if "Skipped" in output:
                raise Skip("not supported by the device")
            rates = re.findall(r"^ +\S.*? : ([\d.]+)", output.split("Clock frequency")[-1], re.M)
            assert rates and all(float(rate) > 0 for rate in rates), f"rates {rates}"
    spent("run", time.monotonic() - start)


main()
