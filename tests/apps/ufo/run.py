import re
import subprocess
from pathlib import Path

import numpy as np
import tifffile
from common import as_gpu, case, ended, equal, run, version
from scipy import ndimage

LIMIT = 120
ENVIRONMENT = as_gpu()
RANDOM = np.random.default_rng(1)
IMAGE = RANDOM.random((64, 96), dtype=np.float32)
SQUARE = RANDOM.random((128, 128), dtype=np.float32)


def phantom(size):
    """Some ellipses."""
    y, x = (np.mgrid[:size, :size] + 0.5) / size * 2 - 1
    image = np.zeros((size, size), dtype=np.float32)
    for value, at, axes in [
        (1, (0, 0), (0.7, 0.85)),
        (-0.6, (0.2, 0.1), (0.2, 0.35)),
        (0.5, (-0.3, -0.3), (0.15, 0.1)),
    ]:
        image[((x - at[0]) / axes[0]) ** 2 + ((y - at[1]) / axes[1]) ** 2 <= 1] += value
    return image


def launch(image, *filters):
    """What a chain of filters makes of an image."""
    for file in Path(".").glob("out*.tif"):
        file.unlink()
    tifffile.imwrite("in.tif", image)
    words = ["read", "path=in.tif"]
    for word in filters:
        words += ["!", *word.split()]
    status, output = run(["ufo-launch", "-q", *words, "!", "write", "filename=out.tif"], LIMIT, env=ENVIRONMENT)
    assert status == 0 and "Error" not in output, f"{ended(status, LIMIT)}: {output[-300:]}"
    return tifffile.imread("out.tif")


def inside(image, border):
    return image[border:-border, border:-border]


def check(name, image, filters, expected, border=0, relative=1e-5, absolute=1e-5):
    with case(name):
        got = launch(image, *filters)
        if border:
            got, expected = inside(got, border), inside(expected, border)
        equal(got, expected, relative=relative, absolute=absolute)


def pairs(spectrum):
    """Complex numbers as neighbouring floats."""
    return np.stack([spectrum.real, spectrum.imag], axis=-1).reshape(*spectrum.shape[:-1], -1)


def main():
    text = subprocess.run(["ufo-launch", "--version"], capture_output=True, text=True, env=ENVIRONMENT)
    version(re.search(r"[0-9]+\.[0-9.]+", text.stdout + text.stderr)[0])
    # In expressions, x counts all elements.
    x = np.arange(IMAGE.size).reshape(IMAGE.shape)
    check("flip horizontally", IMAGE, ["flip direction=horizontal"], IMAGE[:, ::-1])
    check("flip vertically", IMAGE, ["flip direction=vertical"], IMAGE[::-1])
    check("transpose", IMAGE, ["transpose"], IMAGE.T)
    check("crop", IMAGE, ["crop x=8 y=4 width=48 height=32"], IMAGE[4:36, 8:56])
    check("binarize", IMAGE, ["binarize threshold=0.4"], IMAGE >= np.float32(0.4))
    check("clip", IMAGE, ["clip min=0.25 max=0.75"], np.clip(IMAGE, 0.25, 0.75))
    for size in [2, 4, 8]:
        sums = IMAGE.reshape(64 // size, size, 96 // size, size).sum(axis=(1, 3))
        check(f"bin {size}", IMAGE, [f"bin size={size}"], sums)
    for expression, expected in [
        ("sqrt(v)*x", np.sqrt(IMAGE) * x),
        ("sin(v)+cos(7.0f*v)", np.sin(IMAGE) + np.cos(7 * IMAGE)),
        ("exp(-v)*log(1.0f+v)", np.exp(-IMAGE) * np.log1p(IMAGE)),
        ("fmod(v*10.0f,3.0f)", np.fmod(IMAGE * np.float32(10), np.float32(3))),
        ("pow(v,2.5f)", IMAGE**2.5),
    ]:
        check(f"calculate {expression}", IMAGE, [f"calculate expression='{expression}'"], expected, absolute=1e-4)
    for size in [3, 5, 7]:
        check(f"median {size}", IMAGE, [f"median-filter size={size}"], ndimage.median_filter(IMAGE, size), size // 2)
    gradients = np.gradient(IMAGE)
    check("gradient, horizontal", IMAGE, ["gradient direction=horizontal"], gradients[1], 1)
    check("gradient, vertical", IMAGE, ["gradient direction=vertical"], gradients[0], 1)
    edge = np.pad(IMAGE, ((16, 16), (16, 16)), mode="edge")
    check("pad", IMAGE, ["pad width=128 height=96 x=16 y=16 addressing-mode=clamp_to_edge"], edge)
    check("Fourier transform of rows", SQUARE, ["fft dimensions=1"], pairs(np.fft.fft(SQUARE)), absolute=1e-5)
    check("Fourier transform", SQUARE, ["fft dimensions=2"], pairs(np.fft.fft2(SQUARE)), absolute=1e-5)
    # Both the library and the filter divide by the number of elements.
    check("and back, rows", SQUARE, ["fft dimensions=1", "ifft dimensions=1"], SQUARE / 128, absolute=1e-8)
    check("and back", SQUARE, ["fft dimensions=2", "ifft dimensions=2"], SQUARE / 128**2, absolute=1e-8)
    weights = np.exp(-0.5 * (np.arange(-8, 9) / 2.0) ** 2)
    blurred = ndimage.convolve1d(ndimage.convolve1d(IMAGE, weights / weights.sum(), 0), weights / weights.sum(), 1)
    check("blur", IMAGE, ["blur size=17 sigma=2"], blurred, 8, absolute=1e-3)
    tomography()


def tomography():
    size, angles = 256, 402
    image = phantom(size)
    y, x = (np.mgrid[:size, :size] + 0.5) / size * 2 - 1
    circle = x**2 + y**2 < 0.98
    sinogram = None
    with case("projections of a phantom"):
        sinogram = launch(image, f"forwardproject number={angles} angle-step={np.pi / angles}")
        assert sinogram.shape == (angles, size), f"shape {sinogram.shape}"
        rows = [ndimage.rotate(image, angle, reshape=False, order=1).sum(axis=0) for angle in (0, 90)]
        for got, expected in zip(sinogram[[0, angles // 2]], rows):
            near = min(np.abs(got - expected).mean(), np.abs(got - expected[::-1]).mean())
            assert near < 0.02 * expected.max(), f"rows differ by {near:.3f} of {expected.max():.1f}"
    for mode in ["texture", "nearest"]:
        with case(f"reconstruction, {mode}"):
            assert sinogram is not None, "there are no projections"
            back = f"backproject axis-pos={size / 2} angle-step={np.pi / angles} mode={mode}"
            got = launch(sinogram, "fft dimensions=1", "filter", "ifft dimensions=1", back)
            assert got.shape == image.shape, f"shape {got.shape}"
            # Up to a factor, as the filters scale differently, and reflections. The corners are left out: rays
            # through them miss the detector, and ufo's kernel for mode=nearest then reads the rows beside, before
            # the first and after the last one whatever the memory holds.
            best = max(
                np.corrcoef(other[circle], image[circle])[0, 1] for other in (got, got[::-1], got[:, ::-1])
            )
            assert best > 0.93, f"correlation with the phantom {best:.3f}"


main()
