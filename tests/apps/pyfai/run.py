from common import package_version, pytest

package_version("pyFAI")
pytest(["--pyargs", "pyFAI.opencl.test"])
