from common import SOURCES, package_version, pytest

package_version("xobjects")
# The tests take the contexts from the environment; those in Python's own memory need no device.
pytest(["tests"], cwd=next(SOURCES.glob("xobjects-*")), env={"XOBJECTS_TEST_CONTEXTS": "ContextPyopencl"})
