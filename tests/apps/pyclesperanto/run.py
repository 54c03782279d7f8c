from common import SOURCES, package_version, pytest

package_version("pyclesperanto")
pytest(["tests"], cwd=next(SOURCES.glob("pyclesperanto-*")))
