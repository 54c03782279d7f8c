from common import QUICK, SOURCES, package_version, pytest

package_version("reikna")
tests = next(SOURCES.glob("reikna-*")) / "test"
for name in ["test_linalg"] if QUICK else ["test_algorithms", "test_cbrng", "test_cluda", "test_core", "test_dht.py", "test_fft", "test_linalg", "test_transformations.py"]:
    pytest([name], "--api=ocl", "--fast-math=no", cwd=tests)
