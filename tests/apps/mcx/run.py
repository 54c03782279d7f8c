"""Simulates photons in turbid media with MCX-CL, and compares with the laws of absorption and diffusion and with NumPy."""

import time

import numpy as np
import pmcxcl
from common import QUICK, case, equal, package_version, spent

PHOTONS = 10_000 if QUICK else 30_000
GATE = {"tstart": 0, "tend": 5e-9, "tstep": 5e-9, "seed": 29012392, "issrcfrom0": 1, "autopilot": 1}
AIR = [0, 0, 1, 1]


def simulated(size, media, **more):
    """What is left in each voxel (or its density), and the absorbed share."""
    volume = more.pop("vol", np.ones(size, np.uint8))
    settings = {"nphoton": PHOTONS, "vol": volume, "prop": np.array([AIR, *media]), "isreflect": 0, "outputtype": "energy"}
    result = pmcxcl.run({**GATE, **settings, **more})
    share = result["stat"]["energyabs"] / result["stat"]["energytot"]
    return np.asarray(result["flux"], np.float64).reshape(size), share


def beam():
    """Nothing but absorption along a beam: Lambert's law, voxel by voxel."""
    left, share = simulated((20, 20, 60), [[0.05, 0, 0, 1]], srcpos=[10, 10, 0], srcdir=[0, 0, 1])
    expected = -np.diff(np.exp(-0.05 * np.arange(61)))
    equal(left[10, 10], expected, relative=0.02)
    equal(share, expected.sum(), relative=0.005)
    assert np.count_nonzero(left) == 60, f"{np.count_nonzero(left)} voxels absorb instead of 60"


def layers():
    """Absorption in three layers: a medium per voxel."""
    volume = np.ones((20, 20, 60), np.uint8)
    volume[:, :, 20:40], volume[:, :, 40:] = 2, 3
    rates = np.repeat([0.01, 0.08, 0.03], 20)
    left, _ = simulated(volume.shape, [[rate, 0, 0, 1] for rate in [0.01, 0.08, 0.03]], vol=volume, srcpos=[10, 10, 0], srcdir=[0, 0, 1])
    equal(left[10, 10], -np.diff(np.exp(-np.concatenate([[0], np.cumsum(rates)]))), relative=0.02)


def diffusion():
    """Far from a point in a large medium, density is that of diffusion."""
    absorbed, scattered, g = 0.02, 2, 0.5
    density, _ = simulated(
        (60, 60, 60), [[absorbed, scattered, g, 1]], srcpos=[30, 30, 30], srctype="isotropic", srcdir=[0, 0, 1, 0], outputtype="fluence"
    )
    constant = 1 / (3 * (absorbed + scattered * (1 - g)))
    place = np.indices((60, 60, 60)) + 0.5 - 30
    radius = np.sqrt((place**2).sum(axis=0))
    for near in [5, 7, 9, 11]:
        shell = (radius >= near) & (radius < near + 1)
        law = np.exp(-np.sqrt(absorbed / constant) * radius[shell]) / (4 * np.pi * constant * radius[shell])
        equal(density[shell].mean(), law.mean(), relative=0.1)


def walked(size, medium, start, count=40_000):
    """The absorbed share of a cube without reflections, by a simulation in NumPy: photons with weights, as they walk."""
    absorbed, scattered, g, _ = medium
    random = np.random.default_rng(5)
    place = np.tile(np.array(start, float), (count, 1))
    along = np.tile([0.0, 0.0, 1.0], (count, 1))
    weight, share = np.ones(count), 0.0
    while len(weight):
        step = random.exponential(1 / scattered, len(weight))
        with np.errstate(divide="ignore", invalid="ignore"):
            exits = np.where(along > 0, (size - place) / along, np.where(along < 0, -place / along, np.inf)).min(axis=1)
        path = np.minimum(step, exits)
        share += (weight * -np.expm1(-absorbed * path)).sum()
        weight = weight * np.exp(-absorbed * path)
        place = place + along * path[:, None]
        inside = (step < exits) & (weight > 1e-5)
        place, along, weight = place[inside], along[inside], weight[inside]
        n = len(weight)
        cosine = 2 * random.random(n) - 1 if g == 0 else (1 + g * g - ((1 - g * g) / (1 - g + 2 * g * random.random(n))) ** 2) / (2 * g)
        sine, angle = np.sqrt(np.maximum(0, 1 - cosine**2)), 2 * np.pi * random.random(n)
        helper = np.where(np.abs(along[:, :1]) < 0.9, [[1.0, 0, 0]], [[0, 1.0, 0]])
        u = np.cross(along, helper)
        u /= np.linalg.norm(u, axis=1, keepdims=True)
        across = np.cross(along, u)
        along = along * cosine[:, None] + (u * np.cos(angle)[:, None] + across * np.sin(angle)[:, None]) * sine[:, None]
        along /= np.linalg.norm(along, axis=1, keepdims=True)
    return share / count


def share_of(medium):
    _, share = simulated((40, 40, 40), [medium], srcpos=[20, 20, 0], srcdir=[0, 0, 1])
    equal(share, walked(40, medium, [20, 20, 0]), units=0.015)


SOURCES = {
    "pencil": {}, "isotropic": {"srcpos": [20, 20, 20]}, "cone": {"srcparam1": [0.4, 0, 0, 0]},
    "disk": {"srcparam1": [8, 0, 0, 0]}, "gaussian": {"srcparam1": [6, 0, 0, 0]},
    "planar": {"srcpos": [10, 10, 0], "srcparam1": [20, 0, 0, 0], "srcparam2": [0, 20, 0, 0]},
    "fourier": {"srcpos": [10, 10, 0], "srcparam1": [20, 0, 0, 2], "srcparam2": [0, 20, 0, 0]},
    "line": {"srcpos": [10, 20, 0.1], "srcparam1": [20, 0, 0, 0]}, "arcsine": {},
}  # fmt: skip


def source(kind):
    """The share that a source's photons leave is plausible, and the same again."""
    settings = {"srcpos": [20, 20, 0], "srcdir": [0, 0, 1, 0], "srctype": kind, "isreflect": 1, **SOURCES[kind]}
    left, share = simulated((40, 40, 40), [[0.02, 5, 0.8, 1.37]], **settings)
    assert np.isfinite(left).all() and (left >= 0).all(), "densities are not finite or negative"
    assert 0.2 < share < 0.99, f"{share} is absorbed"
    _, again = simulated((40, 40, 40), [[0.02, 5, 0.8, 1.37]], **settings)
    equal(again, share, units=0.015)


def main():
    package_version("pmcxcl")
    start = time.monotonic()
    for check in [beam, layers, diffusion]:
        with case(check.__name__):
            check()
    for medium in [[0.02, 1, 0, 1], [0.05, 5, 0.5, 1], [0.01, 10, 0.9, 1], [0.2, 3, -0.4, 1]]:
        with case("share absorbed with scattering {1} and g {2}, absorption {0}".format(*medium)):
            share_of(medium)
    for kind in list(SOURCES)[:3] if QUICK else SOURCES:
        with case(f"{kind} source"):
            source(kind)
    spent("run", time.monotonic() - start)


main()
