"""The Clift OpenCL driver for CPUs, for PyOpenCL."""
import pathlib


def library():
    """The path of the driver's library."""
    return pathlib.Path(__file__).resolve().parent.parent / "pyopencl" / ".libs" / "libclift.so"
