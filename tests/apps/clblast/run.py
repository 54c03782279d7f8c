"""Runs CLBlast's test of each routine of levels 1 to 3 and beyond.

The tests compare each precision with a CPU BLAS over sizes, strides, layouts and transpositions.
"""

import re
import time
from pathlib import Path

from common import QUICK, ended, failed, passed, run, skipped, spent, version

SHORT = ["xaxpy", "xasum", "xgemv"]
LIMIT = 900


def plain(output):
    return re.sub(r"\x1b\[[0-9;]*m", "", output)


def test(program):
    """Reports the result of each precision, which the tests print one after another."""
    routine = program.name.removeprefix("clblast_test_")
    status, output = run([program], LIMIT)
    output = plain(output)
    parts = re.split(r"Starting tests for the '(.*?)' routine", output)[1:]
    for name, text in zip(parts[::2], parts[1::2], strict=True):
        counts = re.findall(r"(\d+) test\(s\) (passed|skipped|failed)", text)
        count = {kind: sum(int(n) for n, k in counts if k == kind) for kind in ("passed", "skipped", "failed")}
        if not counts:
            failed(name, ended(status, LIMIT))
        elif count["failed"] or not (count["passed"] or count["skipped"]):
            failed(name, f"{count['failed']} of {sum(count.values())} tests")
        elif count["passed"]:
            passed(name)
        else:
            skipped(name, "not for this precision, or kernels do not compile")
        if "error:" in text:
            print("\n".join(re.findall(r".*error:.*", text)[:5]))
    if not parts:
        failed(routine, ended(status, LIMIT) if status else "it printed no result")


def main():
    version(run(["dpkg-query", "-W", "-f", "${Version}", "clblast-tests"])[1].split("-")[0])
    start = time.monotonic()
    for program in sorted(Path("/usr/bin").glob("clblast_test_*")):
        if not QUICK or program.name.removeprefix("clblast_test_") in SHORT:
            test(program)
    spent("run", time.monotonic() - start)


main()
