from common import QUICK, SOURCES, package_version, pytest

package_version("pyopencl")
tests = next(SOURCES.glob("pyopencl-*")) / "test"
files = ["test_clmath.py"] if QUICK else sorted(path.name for path in tests.glob("test_*.py"))
for file in files:
    pytest([file], cwd=tests)
