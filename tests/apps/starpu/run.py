"""Runs StarPU's examples without workers on the CPU, so that all tasks go to the device; they check their results themselves."""

import os
import re
import time
from pathlib import Path

from common import QUICK, Skip, case, ended, run, spent, version

DIRECTORY = Path("/usr/lib/x86_64-linux-gnu/starpu/examples")
# Measurements, tasks without data, and programs that need a display or a file.
WITHOUT = ("overhead", "bandwidth", "gl_interop", ".sh", ".gp", "hello_world", "tag_", "local_pingpong", "topology", "starpurm", "downscaler")
SHORT = ["vector_scal", "axpy", "block", "dot_product"]
NO_DEVICE = 77
LIMIT = 120


def main():
    version(run(["dpkg-query", "-W", "-f", "${Version}", "starpu-examples"])[1].split("+")[0])
    environment = {
        **os.environ, "STARPU_NCPU": "0", "STARPU_NCUDA": "0", "STARPU_OPENCL_ON_CPUS": "1", "STARPU_HOME": str(Path.cwd()),
        "STARPU_OPENCL_PROGRAM_DIR": "/usr/share/starpu/opencl", "STARPU_CALIBRATE": "0",
    }  # fmt: skip
    start = time.monotonic()
    for program in sorted(DIRECTORY.iterdir()):
        name = program.name
        if program.is_dir() or any(word in name for word in WITHOUT) or QUICK and name not in SHORT:
            continue
        with case(name):
            status, output = run([program], LIMIT, env=environment)
            print(output[-1500:], flush=True)
            if status == NO_DEVICE:
                raise Skip("no codelet for OpenCL")
            missing = re.search(r"'\w+\.h' file not found|Cannot locate file <\S+>", output)
            if missing:
                raise Skip(f"the package lacks it: {missing[0]}")
            assert status == 0, f"{ended(status, LIMIT)} {' | '.join(output.splitlines()[-3:])}"
    spent("run", time.monotonic() - start)


main()
