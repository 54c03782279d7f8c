from common import package_version, pytest

package_version("compyle")
pytest(["--pyargs", "compyle"], "-k", "gpu or opencl or OpenCL or cl")
