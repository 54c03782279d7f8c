from common import QUICK, SOURCES, package_version, pytest

package_version("loopy")
tests = next(SOURCES.glob("loopy-*")) / "test"
# Without those of other targets, and of the loops themselves.
FILES = ["apps", "callables", "dg", "einsum", "fusion", "linalg", "loopy", "nbody", "reduction", "scan", "sem_reagan"]
FILES += ["split_iname_slabs", "target", "transform"]
for file in ["reduction"] if QUICK else FILES:
    pytest([f"test_{file}.py"], "-k", "not ExecutableCTarget", cwd=tests)
