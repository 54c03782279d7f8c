"""Applies GEGL's operations with OpenCL and without, and compares the images."""

import os
import re
import time
from pathlib import Path

import numpy as np
from common import QUICK, case, ended, run, spent, version

# An operation with properties, levels of 255 that a sample may differ by, and what share of the samples by more.
SHORT = [
    ("brightness-contrast contrast=1.4 brightness=0.1", 1, 0),
    ("box-blur radius=4", 1, 0),
    ("motion-blur-linear length=12 angle=30", 1, 0),
]
OPERATIONS = SHORT + [
    ("alien-map", 1, 0),
    ("bilateral-filter blur-radius=4 edge-preservation=8", 1, 0),
    ("c2g radius=20 samples=4 iterations=4", 255, 0),  # random samples
    ("color-exchange from-color=red to-color=blue red-threshold=0.3", 1, 0),
    ("color-temperature intended-temperature=4000", 1, 0),
    ("contrast-curve", 1, 0),
    ("edge-laplace", 1, 0.001),
    ("exposure exposure=1.2 black-level=0.05", 1, 0),
    ("gaussian-blur std-dev-x=3 std-dev-y=5", 1, 0),
    ("gblur-1d std-dev=2.5 filter=fir orientation=vertical", 1, 0),
    ("hue-chroma hue=40 chroma=10", 1, 0.001),  # the chroma of a grey is noise, on either side of the kernel's limit
    ("invert-linear", 1, 0),
    ("levels in-low=0.1 in-high=0.8 out-high=0.9", 1, 0),
    ("mono-mixer red=0.5 green=0.3 blue=0.2", 1, 0),
    ("noise-hsv holdness=3 hue-distance=20 seed=7", 2, 0.001),
    ("noise-hurl pct-random=30 seed=3", 1, 0),
    ("noise-reduction iterations=3", 1, 0),
    ("oilify mask-radius=4", 1, 0.01),
    ("oilify mask-radius=4 use-inten=false", 1, 0.01),
    ("opacity value=0.6", 1, 0),
    ("pixelize size-x=9 size-y=5", 1, 0),
    ("posterize levels=5", 1, 0.001),
    ("red-eye-removal threshold=0.5", 1, 0),
    ("shadows-highlights shadows=50 highlights=-50", 1, 0),
    ("snn-mean radius=5 pairs=2", 1, 0.001),
    ("softglow", 1, 0),
    ("stretch-contrast", 1, 0),
    ("texturize-canvas depth=6", 1, 0),
    ("threshold value=0.4", 1, 0.001),
    ("value-invert", 1, 0),
    ("video-degradation pattern=large-staggered", 1, 0),
    ("vignette radius=0.8 softness=0.6", 1, 0),
    ("high-pass std-dev=4", 1, 0),
    ("unsharp-mask std-dev=3 scale=1.5", 1, 0),
    ("dropshadow x=6 y=6 radius=4", 1, 0),
    ("mono-mixer gaussian-blur std-dev-x=2 std-dev-y=2 levels out-high=0.7 threshold", 1, 0.001),
]
LIMIT = 100


def picture(path):
    """Shapes, gradients, and noise, as a PPM."""
    y, x = np.indices((150, 211))
    noise = np.random.default_rng(5).integers(0, 40, (150, 211, 3))
    image = np.stack([x, y + 50, (x * y) // 120], axis=-1) % 200 + noise
    image[40:90, 60:120] = (230, 30, 20)
    image[(x - 150) ** 2 + (y - 70) ** 2 < 900] = (20, 40, 220)
    path.write_bytes(b"P6\n211 150\n255\n" + image.clip(0, 255).astype(np.uint8).tobytes())


def applied(operation, opencl):
    out = Path("out.npy")
    out.unlink(missing_ok=True)
    environment = {**os.environ, "GEGL_USE_OPENCL": "cpu" if opencl else "no", "GEGL_SWAP": "ram", "GEGL_MIPMAP_RENDERING": "0"}
    words = operation.split()
    status, output = run(["gegl", "in.ppm", "-o", out, "--", *words], LIMIT, env=environment)
    if not out.exists() or status != 0:
        raise AssertionError(f"{ended(status, LIMIT)} {output}")
    return np.load(out).astype(np.float64) * 255


def main():
    version(re.search(r"\d+\.\d+\.\d+", run(["dpkg-query", "-W", "-f", "${Version}", "gegl"])[1])[0])
    picture(Path("in.ppm"))
    start = time.monotonic()
    for operation, levels, share in SHORT if QUICK else OPERATIONS:
        with case(operation):
            expected, got = applied(operation, False), applied(operation, True)
            assert got.shape == expected.shape, f"shape {got.shape} instead of {expected.shape}"
            assert np.isfinite(got).all() or not np.isfinite(expected).all(), "not finite"
            differ = np.abs(got - expected)
            beyond = np.count_nonzero(differ > levels) / differ.size
            print(f"at most {differ.max():.4f}, {beyond:.5f} beyond {levels}")
            assert beyond <= share, f"{beyond:.4f} of the samples differ by more than {levels}, at most by {differ.max():.3f}"
    spent("run", time.monotonic() - start)


main()
