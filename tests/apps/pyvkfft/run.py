from common import QUICK, case, equal, package_version

package_version("pyvkfft")
import numpy as np
import pyopencl as cl
import pyopencl.array as cla
import scipy.fft
from pyvkfft.opencl import VkFFTApp

device = cl.get_platforms()[0].get_devices()[0]
queue = cl.CommandQueue(cl.Context([device]))
random = np.random.default_rng(1)

# Radices of VkFFT's own, Rader's algorithm (17 to 113, primes), Bluestein's (larger ones), several passes (large sizes).
SIZES = [2, 3, 4, 5, 7, 8, 11, 13, 16, 17, 30, 47, 60, 97, 113, 128, 243, 251, 509, 1001, 1024, 4096, 4099, 6561]
SIZES += [8192, 16384, 30030, 65536, 131072, 177147, 1 << 20]
TRIGONOMETRIC = [(5, 8), (5, 17), (5, 60), (5, 251), (5, 1024), (30, 42), (17, 19), (12, 30, 20)]
SHAPES = [(64, 64), (30, 42), (17, 19), (256, 100), (1000, 13), (16, 16, 16), (12, 30, 20), (7, 11, 13), (128, 64, 32)]
if QUICK:
    SIZES, SHAPES = [8, 17, 30, 251, 1024], [(12, 30, 20)]
PRECISIONS = [(np.float32, np.complex64, 3e-6), (np.float64, np.complex128, 1e-14)]


def close(got, expected, tolerance):
    scale = np.linalg.norm(expected.ravel()) / np.sqrt(expected.size)
    equal(got / scale, expected / scale, relative=tolerance * 5, units=tolerance * (1 + np.log2(expected.size)))


def data(shape, dtype):
    values = random.random(shape) - 0.5
    if np.issubdtype(dtype, np.complexfloating):
        values = values + 1j * (random.random(shape) - 0.5)
    return values.astype(dtype)


def complex_transform(shape, ndim, dtype, tolerance, inplace):
    source = data(shape, dtype)
    axes = tuple(range(len(shape) - ndim, len(shape)))
    app = VkFFTApp(shape, dtype, queue, ndim=ndim, inplace=inplace, norm=1)
    given = cla.to_device(queue, source)
    target = given if inplace else cla.empty_like(given)
    forward = app.fft(given, target)
    close(forward.get(), scipy.fft.fftn(source, axes=axes), tolerance)
    if not inplace:
        assert (given.get() == source).all(), "the source has changed"
    back = app.ifft(forward, forward if inplace else cla.empty_like(given))
    close(back.get(), source, tolerance)


def real_transform(shape, ndim, dtype, kind, tolerance):
    source = data(shape, dtype)
    axes = tuple(range(len(shape) - ndim, len(shape)))
    app = VkFFTApp(shape, dtype, queue, ndim=ndim, inplace=False, norm=1, r2c=True)
    target = cla.empty(queue, (*shape[:-1], shape[-1] // 2 + 1), kind)
    forward = app.fft(cla.to_device(queue, source), target)
    expected = scipy.fft.rfftn(source, axes=axes)
    close(forward.get(), expected, tolerance)
    back = app.ifft(cla.to_device(queue, expected.astype(kind)), cla.empty(queue, shape, dtype))
    close(back.get(), source, tolerance)


def cosine_transform(shape, ndim, dtype, tolerance, name, number):
    source = data(shape, dtype)
    axes = tuple(range(len(shape) - ndim, len(shape)))
    app = VkFFTApp(shape, dtype, queue, ndim=ndim, inplace=True, norm=1, **{name: number})
    given = cla.to_device(queue, source)
    forward = app.fft(given, given)
    transform, inverse = (scipy.fft.dctn, scipy.fft.idctn) if name == "dct" else (scipy.fft.dstn, scipy.fft.idstn)
    expected = transform(source, number, axes=axes)
    close(forward.get(), expected, tolerance)
    given.set(expected.astype(dtype))
    close(app.ifft(given, given).get(), inverse(expected, number, axes=axes), tolerance)


for real, kind, tolerance in PRECISIONS:
    if real == np.float64 and "cl_khr_fp64" not in device.extensions:
        continue
    name = np.dtype(kind).name
    plans = [((max(1, min(5, 100000 // size)), size), 1) for size in SIZES] + [(shape, len(shape)) for shape in SHAPES]
    for shape, ndim in plans:
        text = "x".join(map(str, shape)) + (" by rows" if ndim == 1 else "")
        for inplace in (True, False):
            with case(f"{name} {text}{' in place' if inplace else ''}"):
                complex_transform(shape, ndim, kind, tolerance, inplace)
        with case(f"{np.dtype(real).name} {text}"):
            real_transform(shape, ndim, real, kind, tolerance)
        if shape in TRIGONOMETRIC:
            for transform in ("dct", "dst"):
                for number in (1, 2, 3, 4):
                    with case(f"{transform}{number} {np.dtype(real).name} {text}"):
                        cosine_transform(shape, ndim, real, tolerance, transform, number)
