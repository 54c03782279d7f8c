"""Squares numbers on the CPU with PyOpenCL: pip install pyopencl, then run this program."""
import numpy as np
import pyopencl as cl

platform = next(p for p in cl.get_platforms() if p.name == "Clift")
context = cl.Context(platform.get_devices())
queue = cl.CommandQueue(context)

values = np.arange(1000, dtype=np.float32)
flags = cl.mem_flags
source = cl.Buffer(context, flags.READ_ONLY | flags.COPY_HOST_PTR, hostbuf=values)
target = cl.Buffer(context, flags.WRITE_ONLY, values.nbytes)

program = cl.Program(context, """
    kernel void square(global const float *in, global float *out) {
        size_t i = get_global_id(0);
        out[i] = in[i] * in[i];
    }
""").build()
program.square(queue, values.shape, None, source, target)

squares = np.empty_like(values)
cl.enqueue_copy(queue, squares, target)
assert (squares == values * values).all()
print("the sum of the squares is", squares.sum(dtype=np.float64))
