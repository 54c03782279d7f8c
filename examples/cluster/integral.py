"""What the cluster examples compute: pieces of the integral of 4 / (1 + x * x) from 0 to 1, which is pi."""
import functools

import numpy as np
import pyopencl as cl

SOURCE = """
    kernel void piece(global double *sums, ulong first, ulong steps, ulong all) {
        ulong item = get_global_id(0);
        double sum = 0.0;
        for (ulong i = 0; i < steps; i++) {
            double x = (first + item * steps + i + 0.5) / all;
            sum += 4.0 / (1.0 + x * x);
        }
        sums[item] = sum / all;
    }
"""
ITEMS = 4096


@functools.lru_cache(maxsize=1)
def device():
    """The queue and the kernel of this process, made at the first call."""
    platform = next(p for p in cl.get_platforms() if p.name == "Clift")
    context = cl.Context(platform.get_devices())
    return cl.CommandQueue(context), cl.Program(context, SOURCE).build().piece


def piece(number, pieces, steps=256):
    """One of `pieces` equal pieces of the integral."""
    queue, kernel = device()
    sums = np.empty(ITEMS)
    target = cl.Buffer(queue.context, cl.mem_flags.WRITE_ONLY, sums.nbytes)
    share = ITEMS * steps
    numbers = (np.uint64(n) for n in (number * share, steps, pieces * share))
    kernel(queue, (ITEMS,), None, target, *numbers)
    cl.enqueue_copy(queue, sums, target)
    return float(sums.sum())


def threads():
    """The compute units that this process has."""
    return device()[0].device.max_compute_units
