"""A vortex that PyFR carries through a periodic box, beside the exact solution: the vortex at another place."""

import itertools
import os
import sys
import time
from pathlib import Path

import h5py
import numpy as np
from pyfr.quadrules import get_quadrule
from pyfr.shapes import BaseShape
from pyfr.util import subclasses

from common import case, ended, package_version, run, spent

package_version("pyfr")
PYFR = Path(sys.executable).with_name("pyfr")
ENVIRONMENT = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
SIDE, LAYERS, END = 20, 2, 0.5
STRENGTH, MACH, RADIUS, GAMMA = 13.5, 0.4, 1.5, 1.4
POINTS = {"quad": "gauss-legendre", "tri": "williams-shunn", "hex": "gauss-legendre", "pri": "williams-shunn~gauss-legendre"}
FACES = {"line": "gauss-legendre", "quad": "gauss-legendre", "tri": "williams-shunn"}
SYSTEMS = {"euler": "", "navier-stokes": "mu = 1e-9\nPr = 0.72"}
CONFIGURATION = """
[backend]
precision = {precision}
[constants]
gamma = 1.4
{constants}
[solver]
system = {system}
order = {order}
[solver-time-integrator]
scheme = {scheme}
controller = none
tstart = 0.0
tend = {end}
dt = 0.005
[solver-interfaces]
riemann-solver = {riemann}
ldg-beta = 0.5
ldg-tau = 0.1
{points}
[soln-plugin-writer]
dt-out = {end}
basedir = .
basename = {name}-{{t:.1f}}
[soln-ics]
rho = {rho}
u = {u}
v = {v}
{w}
p = {p}
"""


def vortex(at):
    """Density, velocities and pressure around a vortex at a point of the second axis, as expressions of x and y."""
    y = f"(y - {at})"
    swell = f"exp((1 - x*x - {y}*{y})/{RADIUS**2})"
    heat = f"(1 - {(STRENGTH * MACH) ** 2 * (GAMMA - 1) / (8 * np.pi**2)}*{swell})"
    turn = f"{STRENGTH / (2 * np.pi * RADIUS)}*exp((1 - x*x - {y}*{y})/{2 * RADIUS**2})"
    return {
        "rho": f"pow({heat}, {1 / (GAMMA - 1)})",
        "u": f"{turn}*{y}",
        "v": f"1 - {turn}*x",
        "p": f"{1 / (GAMMA * MACH**2)}*pow({heat}, {GAMMA / (GAMMA - 1)})",
    }


def exact(at, x, y):
    names = {"x": x, "y": y, "exp": np.exp, "pow": np.power}
    rho, u, v, p = (eval(text, names) for text in vortex(at).values())
    return rho, rho * u, rho * v, p / (GAMMA - 1) + rho * (u * u + v * v) / 2


def write_mesh(kind):
    """A box in Gmsh's format: squares or cubes, or each cut into two; opposite sides are periodic."""
    solid = kind in ("hex", "pri")
    cut = kind in ("tri", "pri")
    depth = LAYERS + 1 if solid else 1
    corners = list(itertools.product(range(SIDE + 1), range(SIDE + 1), range(depth)))
    number = {corner: index + 1 for index, corner in enumerate(corners)}
    groups = ["periodic_0_l", "periodic_0_r", "periodic_1_l", "periodic_1_r"] + ["periodic_2_l", "periodic_2_r"] * solid

    def polygons(i, j):
        square = [(i, j), (i + 1, j), (i + 1, j + 1), (i, j + 1)]
        return [[square[0], square[1], square[3]], [square[1], square[2], square[3]]] if cut else [square]

    elements = []

    def element(group, shape, points):
        elements.append(f"{len(elements) + 1} {shape} 2 {group} {group} " + " ".join(str(number[point]) for point in points))

    for along, low in itertools.product(range(SIDE), range(LAYERS if solid else 1)):
        for axis, end in itertools.product((0, 1), (0, 1)):
            edge = [(end * SIDE, along), (end * SIDE, along + 1)]
            edge = [point if axis == 0 else point[::-1] for point in edge]
            face = [(*edge[0], low), (*edge[1], low)]
            element(2 + 2 * axis + end, 3 if solid else 1, [*face, (*edge[1], low + 1), (*edge[0], low + 1)] if solid else face)
    for i, j in itertools.product(range(SIDE), range(SIDE)):
        for polygon in polygons(i, j):
            for end in (0, 1) if solid else ():
                element(6 + end, 2 if cut else 3, [(*point, end * LAYERS) for point in polygon])
            for low in range(LAYERS if solid else 1):
                layers = (low, low + 1) if solid else (low,)
                shape = {"tri": 2, "quad": 3, "hex": 5, "pri": 6}[kind]
                element(1, shape, [(*point, layer) for layer in layers for point in polygon])
    names = [f'{3 if solid else 2} 1 "fluid"', *(f'{2 if solid else 1} {k + 2} "{name}"' for k, name in enumerate(groups))]
    nodes = [f"{number[x, y, z]} {x - SIDE / 2} {y - SIDE / 2} {z}" for x, y, z in corners]
    sections = {"MeshFormat": ["2.2 0 8"], "PhysicalNames": [len(names), *names], "Nodes": [len(nodes), *nodes],
                "Elements": [len(elements), *elements]}  # fmt: skip
    text = "".join(f"${name}\n" + "\n".join(map(str, lines)) + f"\n$End{name}\n" for name, lines in sections.items())
    Path(f"{kind}.msh").write_text(text)
    pyfr("import", f"{kind}.msh", f"{kind}.pyfrm")


def pyfr(*words):
    status, output = run([PYFR, *words], 300, env=ENVIRONMENT)
    if status != 0:
        print(output, file=sys.stderr)
        raise RuntimeError(f"{ended(status, 300)}: {output.strip().splitlines()[-1:]}")


def places(kind, points):
    """The solution points of all elements: each element is the standard one, scaled, sheared and moved."""
    shape = next(one for one in subclasses(BaseShape, just_leaf=True) if one.name == kind)
    standard = np.array(shape.std_ele(1))
    with h5py.File(f"{kind}.pyfrm") as file:
        corners = file["nodes"]["location"][:][file[f"eles/{kind}"]["nodes"]]
    maps = np.linalg.pinv(np.c_[standard, np.ones(len(standard))]) @ corners
    rule = get_quadrule(kind, POINTS[kind], points)
    return np.c_[rule.pts, np.ones(points)] @ maps


def difference(kind, name, time, fields):
    """The largest difference from the exact solution, relative to the largest departure from the flow without the vortex."""
    with h5py.File(f"{name}-{time:.1f}.pyfrs") as file:
        solution = next(value for key, value in file["soln"].items() if key.endswith(f"-{kind}"))[:]
    where = places(kind, solution.shape[2])
    expected = exact(time, where[..., 0], where[..., 1])
    still = exact(1e6, where[..., 0], where[..., 1])
    worst = 0.0
    for field, one, flow in zip(fields, expected, still, strict=True):
        worst = max(worst, np.abs(solution[:, field] - one).max() / np.abs(one - flow).max())
    return worst


def vortex_case(kind, system, order, precision, scheme, riemann, bound):
    solid = kind in ("hex", "pri")
    name = f"{kind}-{system}-{order}-{precision}-{scheme}-{riemann}"
    faces = {"quad": ["line"], "tri": ["line"], "hex": ["quad"], "pri": ["tri", "quad"]}[kind]
    points = "".join(f"[solver-interfaces-{face}]\nflux-pts = {FACES[face]}\n" for face in faces)
    points += f"[solver-elements-{kind}]\nsoln-pts = {POINTS[kind]}\n"
    text = CONFIGURATION.format(
        precision=precision, constants=SYSTEMS[system], system=system, order=order, scheme=scheme, end=END, riemann=riemann,
        points=points, name=name, w="w = 0" if solid else "", **vortex(0),
    )  # fmt: skip
    Path(f"{name}.ini").write_text(text)
    with case(name):
        start = time.monotonic()
        pyfr("run", "-b", "opencl", f"{kind}.pyfrm", f"{name}.ini")
        fields = (0, 1, 2, 4) if solid else (0, 1, 2, 3)
        initial = difference(kind, name, 0.0, fields)
        assert initial < 1e-5, f"the initial state is off by {initial}"
        final = difference(kind, name, END, fields)
        print(f"{name}: {final:.2e} of the vortex, {time.monotonic() - start:.1f} s", file=sys.stderr)
        assert final < bound, f"{final} of the vortex instead of less than {bound}"


def main():
    start = time.monotonic()
    for kind in POINTS:
        write_mesh(kind)
    for order, bound in ((2, 5e-2), (3, 1e-2), (4, 2e-3), (5, 5e-4)):
        vortex_case("quad", "euler", order, "double", "rk4", "rusanov", bound)
        vortex_case("tri", "euler", order, "double", "rk4", "rusanov", bound)
    for riemann in ("hll", "hllc", "roe", "exact"):
        vortex_case("quad", "euler", 3, "double", "rk4", riemann, 1e-2)
    for scheme in ("rk34", "rk45", "tvd-rk3"):
        vortex_case("quad", "euler", 3, "single", scheme, "rusanov", 1e-2)
    for kind in POINTS:
        vortex_case(kind, "navier-stokes", 3, "double", "rk4", "rusanov", 1e-2)
    for kind in ("hex", "pri"):
        vortex_case(kind, "euler", 3, "single", "rk4", "rusanov", 1e-2)
    spent("run", time.monotonic() - start)


main()
