"""Compiles `check.cpp`, once for all drivers, and runs it: ViennaCL is a library of headers."""

import os
import subprocess
import time
from pathlib import Path

from common import BUILD, ended, failed, run, spent, version

LIMIT = 800


def main():
    version(run(["dpkg-query", "-W", "-f", "${Version}", "libviennacl-dev"])[1].split("+")[0])
    source, program = Path(os.environ["CLIFT_APP_DIRECTORY"]) / "check.cpp", BUILD / "check"
    BUILD.mkdir(parents=True, exist_ok=True)
    if not program.exists() or program.stat().st_mtime < source.stat().st_mtime:
        flags = ["-std=c++14", "-O1", "-w", "-DCL_TARGET_OPENCL_VERSION=120"]
        subprocess.run(["g++", *flags, source, "-o", program, "-lOpenCL"], check=True)
    start = time.monotonic()
    status, output = run([program], LIMIT)
    print(output, flush=True)
    if status != 0:
        failed("program", ended(status, LIMIT))
    spent("run", time.monotonic() - start)


main()
