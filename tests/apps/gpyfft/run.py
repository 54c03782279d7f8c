"""Runs each test of gpyfft in a process of its own."""

import re
import sys
import time
import unittest

import gpyfft

from common import Skip, case, ended, run, spent, version

MODULES = ["test_gpyfft", "test_gpyfftlib", "test_batched", "test_callback"]
LIMIT = 120


def tests(suite):
    """The names of all tests of a suite."""
    for one in suite:
        if isinstance(one, unittest.TestSuite):
            yield from tests(one)
        else:
            yield one.id()


def main():
    version(gpyfft.__version__)
    start = time.monotonic()
    for module in MODULES:
        for name in tests(unittest.defaultTestLoader.loadTestsFromName(f"gpyfft.test.{module}")):
            with case(name.removeprefix("gpyfft.test.")):
                status, output = run([sys.executable, "-m", "unittest", name], LIMIT)
                print(output, flush=True)
                if re.search(r"^OK \(skipped=1\)$", output, re.MULTILINE):
                    raise Skip("by the test")
                assert status == 0, f"{ended(status, LIMIT)}: {output.strip().splitlines()[-1:]}"
    spent("run", time.monotonic() - start)


main()
