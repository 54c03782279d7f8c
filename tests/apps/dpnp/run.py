import importlib.util
import os
import sys
from pathlib import Path

from common import QUICK, package_version, pytest

package_version("dpnp")
paths = os.pathsep.join([os.environ["CLIFT_APP_DIRECTORY"], os.environ["PYTHONPATH"]])
environment = {
    "PYTHONPATH": paths,
    "CLIFT_SAMPLE": "1" if QUICK else "4",
    "ONEAPI_DEVICE_SELECTOR": "opencl:*",
    # The adapters find the loader and each other here.
    "LD_LIBRARY_PATH": str(Path(sys.prefix) / "lib"),
}


def tests(package):
    return Path(importlib.util.find_spec(package).origin).parent / "tests"


# What is written in Cython for the tests alone needs a C++ compiler with SYCL.
WITHOUT = ["test_sycl_queue.py::test_cython_api"]
for package in ["dpctl", "dpnp"]:
    directory = tests(package)
    files = sorted(path.relative_to(directory) for path in directory.rglob("test_*.py"))
    # Those of CuPy test the same functions again, for NumPy's rules.
    files = [path for path in files if "third_party" not in path.parts]
    # The process is a new one for each folder, for the memory that the tests keep.
    for folder in sorted({path.parent for path in files}):
        chosen = [directory / path for path in files if path.parent == folder]
        if QUICK:
            chosen = chosen[::8]
        options = ["-p", "sampled", "--rootdir", directory]
        pytest(chosen, *options, prefix=f"{package}: ", deselect=WITHOUT, limit=120, env=environment)
