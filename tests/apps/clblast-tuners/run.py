"""Runs CLBlast's tuners: each builds a kernel with many parameters and compares all variants' results with a plain one's."""

import re
import time
from pathlib import Path

from common import Skip, case, ended, run, spent, version

PRECISIONS = {"half": 16, "single": 32, "double": 64, "complex": 3232, "double complex": 6464}
# Which part of its variants a tuner builds, one in so many: some have thousands.
FRACTIONS = {"xgemm": 64, "xgemm_direct": 64, "xconvgemm": 64, "invert": 1}
FRACTION = 4
LIMIT = 600


def tune(program):
    tuner = program.name.removeprefix("clblast_tuner_")
    for name, bits in PRECISIONS.items():
        with case(f"{tuner}, {name}"):
            fraction = FRACTIONS.get(tuner, FRACTION)
            status, output = run([program, "-precision", bits, "-runs", 1, "-fraction", fraction], LIMIT)
            output = re.sub(r"\x1b\[[0-9;]*m", "", output)
            print(output[-3000:])
            if "Unsupported precision" in output:
                raise Skip("precision not supported")
            assert status == 0, f"{ended(status, LIMIT)} {output.strip().splitlines()[-1:]}"
            if tuner.startswith("routine"):  # chooses between routines by their times, and checks nothing
                assert "Completed tuning process" in output, "it did not end"
                continue
            rows = [row.split("|") for row in output.splitlines() if re.match(r"\|\s+(ref|\d+)", row)]
            wrong = [" ".join(row[3:]) for row in rows if "results match" not in row[-2] and "reference OK" not in row[-2]]
            assert len(rows) > 1, "no variants"
            assert not wrong, f"{len(wrong)} of {len(rows)} variants: {' '.join(wrong[0].split())}"


def main():
    version(run(["dpkg-query", "-W", "-f", "${Version}", "clblast-utils"])[1].split("-")[0])
    start = time.monotonic()
    for program in sorted(Path("/usr/bin").glob("clblast_tuner_*")):
        tune(program)
    spent("run", time.monotonic() - start)


main()
