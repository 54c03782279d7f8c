"""Compiles functions by Halide for the processor and for the device and compares their results."""

import time

import halide as hl
import numpy as np

from common import case, equal, package_version, spent

package_version("halide")
random = np.random.default_rng(3)
x, y, xi, yi = (hl.Var(name) for name in ("x", "y", "xi", "yi"))
PICTURE = random.random((260, 300), dtype=np.float32)
BYTES = random.integers(0, 256, (260, 300)).astype(np.uint8)
SQUARE = random.random((128, 128), dtype=np.float32)


def realize(build, shape, dtype, inputs, device):
    target = hl.get_host_target()
    if device:
        target = target.with_feature(hl.TargetFeature.OpenCL)
    function = build(*(hl.Buffer(array) for array in inputs), device)
    result = hl.Buffer(np.zeros(shape, dtype))
    function.realize(result, target=target)
    result.copy_to_host()
    return np.array(result)


def compare(name, build, shape, dtype, inputs, **tolerance):
    with case(name):
        got, expected = (realize(build, shape, dtype, inputs, device) for device in (True, False))
        equal(got, expected, **tolerance)


def tiled(function, device):
    return function.gpu_tile(x, y, xi, yi, 16, 8) if device else function


def elementwise(expression):
    def build(*arguments):
        *inputs, device = arguments
        function = hl.Func("elementwise")
        function[x, y] = expression(*(one[x, y] for one in inputs))
        return tiled(function, device)

    return build


def blur(picture, device):
    across, down = hl.Func("across"), hl.Func("down")
    across[x, y] = (picture[x, y] + picture[x + 1, y] + picture[x + 2, y]) / 3
    down[x, y] = (across[x, y] + across[x, y + 1] + across[x, y + 2]) / 3
    if device:
        tiled(down, device)
        across.compute_at(down, x).gpu_threads(x, y)
    return down


def histogram(picture, device):
    function, r = hl.Func("histogram"), hl.RDom([(0, 300), (0, 260)])
    function[x] = hl.u32(0)
    function[hl.i32(picture[r.x, r.y])] += hl.u32(1)
    if device:
        function.gpu_tile(x, xi, 64)
        function.update().atomic().gpu_tile(r.x, r.y, hl.RVar("rx"), hl.RVar("ry"), 8, 8)
    return function


def product(a, b, device):
    sums, result, r = hl.Func("sums"), hl.Func("result"), hl.RDom([(0, 128)])
    sums[x, y] = hl.f32(0)
    sums[x, y] += a[r, y] * b[x, r]
    result[x, y] = sums[x, y]
    if device:
        sums.compute_at(result.gpu_tile(x, y, xi, yi, 8, 8), xi)
    return result


def scan(picture, device):
    function, r = hl.Func("scan"), hl.RDom([(1, 255)])
    function[x, y] = picture[x, y]
    function[r, y] = function[r - 1, y] + function[r, y]
    if device:
        tiled(function, device)
        function.update().gpu_tile(y, yi, 8)
    return function


def vectors(picture, device):
    function = hl.Func("vectors")
    function[x, y] = hl.u8(hl.clamp(hl.i32(picture[x, y]) * 3 - hl.i32(picture[x + 1, y]) * 2, 0, 255))
    if device:
        function.gpu_tile(x, y, xi, yi, 64, 8).vectorize(xi, 4)
    return function


INTEGERS = {
    "add": lambda a, b: a + b,
    "multiply": lambda a, b: a * b,
    "divide": lambda a, b: a / b,
    "modulo": lambda a, b: a % b,
    "minimum": hl.min,
    "select": lambda a, b: hl.select(a < b, a - b, b),
    "shift": lambda a, b: a >> (b & hl.cast(b.type(), 7)),
    "distance": lambda a, b: hl.cast(a.type(), hl.absd(a, b)),
    "count bits": lambda a, b: hl.popcount(a) ^ hl.count_leading_zeros(b),
}
FLOATS = {
    "sine": lambda a: hl.sin(a * 9),
    "exponential and logarithm": lambda a: hl.exp(a) * hl.log(a + 1),
    "power": lambda a: hl.pow(a, 1.7),
    "root and floor": lambda a: hl.sqrt(a) + hl.floor(a * 7),
    "angle": lambda a: hl.atan2(a, a + 1),
    "hyperbolic tangent": hl.tanh,
    "error function": hl.erf,
}


def main():
    start = time.monotonic()
    for dtype in ("int8", "uint8", "int16", "uint16", "int32", "uint32"):
        limits = np.iinfo(dtype)
        inputs = [random.integers(limits.min, limits.max, (64, 64), dtype=dtype) for _ in range(2)]
        for name, expression in INTEGERS.items():
            compare(f"{dtype} {name}", elementwise(expression), (64, 64), dtype, inputs)
    for name, expression in FLOATS.items():
        compare(f"float {name}", elementwise(expression), (250, 256), np.float32, [PICTURE], relative=1e-5, absolute=1e-6)
    compare("blur", blur, (250, 256), np.float32, [PICTURE], absolute=1e-6)
    compare("histogram", histogram, (256,), np.uint32, [BYTES])
    compare("matrix product", product, (128, 128), np.float32, [SQUARE, SQUARE], relative=1e-5)
    compare("scan", scan, (248, 256), np.float32, [PICTURE], relative=1e-5)
    compare("vectors of bytes", vectors, (250, 256), np.uint8, [BYTES])
    spent("run", time.monotonic() - start)


main()
