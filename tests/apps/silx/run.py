import os

from common import package_version, pytest

package_version("silx")
paths = os.pathsep.join([os.environ["CLIFT_APP_DIRECTORY"], os.environ["PYTHONPATH"]])
pytest(["--pyargs", "silx.opencl"], "-p", "pictures", env={"PYTHONPATH": paths})
