"""Compiles `check.cpp`, once for all drivers, and runs it: the bindings are a header."""

import os
import subprocess
from pathlib import Path

from common import BUILD, ended, failed, run, version

LIMIT = 90


def main():
    version(run(["dpkg-query", "-W", "-f", "${Version}", "opencl-clhpp-headers"])[1].split("-")[0])
    source, program = Path(os.environ["CLIFT_APP_DIRECTORY"]) / "check.cpp", BUILD / "check"
    BUILD.mkdir(parents=True, exist_ok=True)
    if not program.exists() or program.stat().st_mtime < source.stat().st_mtime:
        subprocess.run(["g++", "-std=c++17", "-O1", "-w", source, "-o", program, "-lOpenCL"], check=True)
    status, output = run([program], LIMIT)
    print(output, flush=True)
    if status != 0:
        failed("program", ended(status, LIMIT))


main()
