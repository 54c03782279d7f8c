"""Each model's kernel by OpenCL beside the same C code compiled for the host, in one and two dimensions."""

import os

os.environ["SAS_WEIGHTS_PATH"] = "."
os.environ["SAS_DLL_PATH"] = os.getcwd()

import numpy as np
from sasmodels.core import build_model, list_models, load_model_info
from sasmodels.direct_model import call_kernel
from sasmodels.kernelcl import GpuModel

from common import QUICK, Skip, case, equal, package_version

package_version("sasmodels")
line = [np.logspace(-3, 0, 60)]
plane = [values.ravel() for values in np.meshgrid(np.linspace(-0.2, 0.2, 12), np.linspace(-0.21, 0.2, 11))]


def check(name, dtype, relative):
    info = load_model_info(name)
    if callable(info.Iq):
        raise Skip("a model in Python")
    opencl, host = build_model(info, dtype=dtype, platform="ocl"), build_model(info, dtype="double!", platform="dll")
    assert isinstance(opencl, GpuModel), "sasmodels takes no OpenCL device"
    for points in [line, plane]:
        # Some polydispersity, so that the kernels loop over it.
        values = {"background": 0.01}
        spread = [one.name for one in info.parameters.kernel_parameters if one.polydisperse and one.type == "volume" and one.length == 1][:1]
        for parameter in spread:
            values.update({parameter + "_pd": 0.1, parameter + "_pd_n": 6})
        got, expected = (call_kernel(model.make_kernel(points), values) for model in (opencl, host))
        equal(got, expected, relative=relative, absolute=relative * 1e-3)


for name in (["sphere", "cylinder", "core_shell_sphere"] if QUICK else list_models("c")):
    with case(f"{name}, double"):
        check(name, "double", 1e-6)
    if name in list_models("single"):
        with case(f"{name}, single"):
            check(name, "single", 5e-3)
