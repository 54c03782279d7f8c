"""Calls clFFT's library and compares its transforms with NumPy's.

clFFT writes a kernel for each length: lengths with each of its radices (2 to 13), long ones that take several kernels and
transpositions, and two and three dimensions. Layouts are interleaved, planar, and real with half of the spectrum.
"""

import ctypes
import time
from ctypes import byref, c_int, c_size_t, c_uint, c_void_p

import numpy as np
import pyopencl as cl
from common import QUICK, case, equal, spent, version

SHAPES = [
    (2,), (8,), (64,), (1024,), (4096,), (8192,), (65536,), (1 << 20,),  # the last ones by several kernels
    (3,), (81,), (2187,), (5,), (625,), (3125,), (7,), (343,), (2401,), (11,), (121,), (1331,), (13,), (169,), (2197,),
    (6,), (60,), (210,), (1260,), (2310,), (30030,), (100000,),
    (16, 16), (256, 64), (30, 42), (13, 121), (512, 512), (8, 8, 8), (64, 32, 16), (15, 21, 22), (100, 10, 7),
]  # fmt: skip
SHORT = [(64,), (60,), (16, 16)]
INTERLEAVED, PLANAR, HERMITIAN, REAL = 1, 2, 3, 5
IN_PLACE, OUT_OF_PLACE = 1, 2
FORWARD, BACKWARD = -1, 1

lib = ctypes.CDLL("libclFFT.so.2")


def call(name, *arguments):
    status = getattr(lib, name)(*arguments)
    assert status == 0, f"{name}: {status}"


class Plan:
    def __init__(self, context, queue, shape, batch, double, layouts, place):
        self.handle, self.queue = c_size_t(), queue
        lengths = (c_size_t * 3)(*reversed(shape))
        call("clfftCreateDefaultPlan", byref(self.handle), c_void_p(context.int_ptr), c_int(len(shape)), lengths)
        call("clfftSetPlanPrecision", self.handle, c_int(2 if double else 1))
        call("clfftSetLayout", self.handle, *map(c_int, layouts))
        call("clfftSetResultLocation", self.handle, c_int(place))
        call("clfftSetPlanBatchSize", self.handle, c_size_t(batch))
        widths = [shape[-1] // 2 + 1 if layout == HERMITIAN else shape[-1] for layout in layouts]
        for side, width in zip(("In", "Out"), widths, strict=True):
            steps, step = [], 1
            for length in (width, *reversed(shape[:-1])):
                steps.append(step)
                step *= length
            call(f"clfftSetPlan{side}Stride", self.handle, c_int(len(shape)), (c_size_t * 3)(*steps))
            sides = [step if s == side else None for s in ("In", "Out")]
            self.distances = getattr(self, "distances", [0, 0])
            self.distances = [new if new is not None else old for new, old in zip(sides, self.distances, strict=True)]
        call("clfftSetPlanDistance", self.handle, *map(c_size_t, self.distances))
        queues = (c_void_p * 1)(queue.int_ptr)
        call("clfftBakePlan", self.handle, c_uint(1), queues, None, None)

    def run(self, direction, inputs, outputs):
        queues = (c_void_p * 1)(self.queue.int_ptr)
        into = (c_void_p * 2)(*[b.int_ptr for b in inputs])
        out = (c_void_p * 2)(*[b.int_ptr for b in outputs]) if outputs else None
        call("clfftEnqueueTransform", self.handle, c_int(direction), c_uint(1), queues, c_uint(0), None, None, into, out, None)
        self.queue.finish()
        call("clfftDestroyPlan", byref(self.handle))


def main():
    numbers = [c_uint() for _ in range(3)]
    call("clfftGetVersion", *map(byref, numbers))
    version(".".join(str(n.value) for n in numbers))
    context = cl.Context([cl.get_platforms()[0].get_devices()[0]])
    queue = cl.CommandQueue(context)
    call("clfftSetup", (c_uint * 8)(*[n.value for n in numbers]))
    random = np.random.default_rng(1)

    def buffer(array):
        return cl.Buffer(context, cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR, hostbuf=array)

    def read(source, like, kind, shape):
        out = np.empty(shape, kind)
        cl.enqueue_copy(queue, out, source)
        return out

    def complex_one(shape, batch, double, layout, direction):
        kind, part = (np.complex128, np.float64) if double else (np.complex64, np.float32)
        whole = (batch, *shape)
        data = (random.standard_normal(whole) + 1j * random.standard_normal(whole)).astype(kind)
        axes = tuple(range(1, len(whole)))
        expected = np.fft.fftn(data, axes=axes) if direction == FORWARD else np.fft.ifftn(data, axes=axes)
        place = OUT_OF_PLACE if layout == INTERLEAVED and direction == FORWARD else IN_PLACE
        plan = Plan(context, queue, shape, batch, double, (layout, layout), place)
        arrays = [data] if layout == INTERLEAVED else [data.real.copy(), data.imag.copy()]
        inputs = [buffer(array) for array in arrays]
        outputs = [buffer(np.zeros_like(array)) for array in arrays] if place == OUT_OF_PLACE else []
        plan.run(direction, inputs, outputs)
        got = [read(b, data, kind if layout == INTERLEAVED else part, whole) for b in outputs or inputs]
        close(got[0] if layout == INTERLEAVED else got[0] + 1j * got[1], expected, double)

    def real_one(shape, batch, double):
        kind, part = (np.complex128, np.float64) if double else (np.complex64, np.float32)
        data = random.standard_normal((batch, *shape)).astype(part)
        axes = tuple(range(1, len(shape) + 1))
        expected = np.fft.rfftn(data, axes=axes).astype(kind)
        source, spectrum = buffer(data), buffer(np.zeros_like(expected))
        Plan(context, queue, shape, batch, double, (REAL, HERMITIAN), OUT_OF_PLACE).run(FORWARD, [source], [spectrum])
        close(read(spectrum, expected, kind, expected.shape), expected, double)
        back = buffer(np.zeros_like(data))
        spectrum = buffer(expected)
        Plan(context, queue, shape, batch, double, (HERMITIAN, REAL), OUT_OF_PLACE).run(BACKWARD, [spectrum], [back])
        close(read(back, data, part, data.shape), data, double)

    def close(got, expected, double):
        scale = np.sqrt(np.mean(np.abs(expected) ** 2))
        equal(got / scale, expected / scale, absolute=1e-12 if double else 5e-6)

    start = time.monotonic()
    for shape in SHORT if QUICK else SHAPES:
        batch = 1 if np.prod(shape) > 10000 else 3
        name = "x".join(map(str, shape))
        for double in (False, True):
            kind = "double" if double else "single"
            with case(f"{name} {kind} interleaved"):
                complex_one(shape, batch, double, INTERLEAVED, FORWARD)
            with case(f"{name} {kind} planar, backward"):
                complex_one(shape, batch, double, PLANAR, BACKWARD)
            with case(f"{name} {kind} real"):
                real_one(shape, batch, double)
    call("clfftTeardown")
    spent("run", time.monotonic() - start)


main()
