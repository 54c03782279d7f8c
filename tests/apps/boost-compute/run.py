"""Builds each of Boost.Compute's test programs, once for all drivers, and runs it."""

import re
import subprocess
import time
from pathlib import Path

from common import BUILD, QUICK, SOURCES, Skip, case, ended, run, spent, version

FLAGS = [
    "-std=c++14", "-O0", "-w", "-DBOOST_TEST_MAIN", "-DBOOST_TEST_DYN_LINK", "-DCL_TARGET_OPENCL_VERSION=220",
    "-DBOOST_COMPUTE_DEBUG_KERNEL_COMPILATION", "-DBOOST_COMPUTE_TEST_DATA_PATH=\"data\"",
]  # fmt: skip
SHORT = ["sort", "reduce", "scan", "transform"]
# They look for a device that is not there, or for the language's checks when compiled.
WITHOUT = ["no_device_found", "amd_cpp_kernel_language"]
LIMIT = 200


def compiled(source):
    program = BUILD / source.stem
    if not program.exists():
        command = ["g++", *FLAGS, "-I", source.parent, source, "-o", program, "-lboost_unit_test_framework", "-lOpenCL"]
        compiler = subprocess.run(command, capture_output=True, text=True)
        if compiler.returncode != 0:
            raise Skip(f"it does not compile: {next(iter(re.findall('.*error.*', compiler.stderr)), '')}")
    return program


def main():
    tests = next(SOURCES.glob("boost*/libs/compute/test"))
    # The archive does not name its version everywhere; that of the installed headers is the same.
    version(re.search(r'BOOST_LIB_VERSION "([\d_]+)"', Path("/usr/include/boost/version.hpp").read_text())[1].replace("_", "."))
    BUILD.mkdir(parents=True, exist_ok=True)
    seconds = 0
    for source in sorted(tests.glob("test_*.cpp")):
        name = source.stem.removeprefix("test_")
        if name in WITHOUT or QUICK and name not in SHORT:
            continue
        with case(name):
            program = compiled(source)
            start = time.monotonic()
            status, output = run([program, "--color_output=no"], LIMIT, cwd=tests)
            seconds += time.monotonic() - start
            print(output[-6000:], flush=True)
            wrong = re.findall(r"error: .*", output)
            assert status == 0, f"{ended(status, LIMIT)} {len(wrong)} errors: {wrong[:1]}"
    spent("run", seconds)


main()
