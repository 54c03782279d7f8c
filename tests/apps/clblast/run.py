"""Runs CLBlast's test of each routine of levels 1 to 3 and beyond, and its tuners.

The tests compare each precision with a CPU BLAS over sizes, strides, layouts and transpositions. A tuner builds its kernel with
many parameters and compares the results of all variants with those of a plain one.
"""

import re
import time
from pathlib import Path

from common import QUICK, Skip, case, ended, failed, passed, run, skipped, spent, version

SHORT = ["xaxpy", "xasum", "xgemv"]
PRECISIONS = {"half": 16, "single": 32, "double": 64, "complex": 3232, "double complex": 6464}
# Which part of its variants a tuner builds, one in so many: some have thousands.
FRACTIONS = {"xgemm": 64, "xgemm_direct": 64, "xconvgemm": 64, "invert": 1}
FRACTION = 4
LIMIT, TUNER_LIMIT = 900, 600


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


def tune(program):
    tuner = program.name.removeprefix("clblast_tuner_")
    for name, bits in PRECISIONS.items():
        with case(f"tuner {tuner}, {name}"):
            fraction = FRACTIONS.get(tuner, FRACTION)
            status, output = run([program, "-precision", bits, "-runs", 1, "-fraction", fraction], TUNER_LIMIT)
            output = plain(output)
            print(output[-3000:])
            if "Unsupported precision" in output:
                raise Skip("precision not supported")
            assert status == 0, f"{ended(status, TUNER_LIMIT)} {output.strip().splitlines()[-1:]}"
            if tuner.startswith("routine"):  # chooses between routines by their times, and checks nothing
                assert "Completed tuning process" in output, "it did not end"
                continue
            rows = [row.split("|") for row in output.splitlines() if re.match(r"\|\s+(ref|\d+)", row)]
            wrong = [" ".join(row[3:]) for row in rows if "results match" not in row[-2] and "reference OK" not in row[-2]]
            assert len(rows) > 1, "no variants"
            assert not wrong, f"{len(wrong)} of {len(rows)} variants: {' '.join(wrong[0].split())}"


def main():
    version(run(["dpkg-query", "-W", "-f", "${Version}", "clblast-tests"])[1].split("-")[0])
    start = time.monotonic()
    for program in sorted(Path("/usr/bin").glob("clblast_test_*")):
        if not QUICK or program.name.removeprefix("clblast_test_") in SHORT:
            test(program)
    for program in sorted(Path("/usr/bin").glob("clblast_tuner_*")):
        if not QUICK:
            tune(program)
    spent("run", time.monotonic() - start)


main()
