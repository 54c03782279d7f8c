"""Five kernels with different limits, for a look inside.

CLIFT_TRACE=trace.json python3 inside.py; clift-report trace.json --peaks -o trace.html
"""
import numpy
import pyopencl

SIZE = 1024
BODIES = 4096

SOURCE = """
kernel void scale(global float *a, float factor) {
    a[get_global_id(0)] *= factor;
}

kernel void blur(global const float *in, global float *out, int width) {
    int x = get_global_id(0), y = get_global_id(1);
    float sum = 0;
    for (int v = 0; v < 5; v++)
        for (int u = 0; u < 5; u++)
            sum += in[(y + v) * width + x + u];
    out[y * width + x] = sum / 25;
}

kernel void transpose(global const float *in, global float *out, int width) {
    int x = get_global_id(0), y = get_global_id(1);
    out[x * width + y] = in[y * width + x];
}

kernel void histogram(global const float *in, global int *bins) {
    float value = in[get_global_id(0)];
    if (value < 0.5f)
        atomic_inc(&bins[(int)(value * 64)]);
}

kernel void attract(global const float4 *bodies, global float4 *forces, int count) {
    float4 own = bodies[get_global_id(0)], force = 0;
    for (int i = 0; i < count; i++) {
        float4 way = bodies[i] - own;
        float square = way.x * way.x + way.y * way.y + way.z * way.z + 0.01f;
        force += way * (bodies[i].w / (square * sqrt(square)));
    }
    forces[get_global_id(0)] = force;
}
"""

platform = next(platform for platform in pyopencl.get_platforms() if platform.name == "Clift")
context = pyopencl.Context(platform.get_devices())
queue = pyopencl.CommandQueue(context)
program = pyopencl.Program(context, SOURCE).build()
scale, blur, transpose, histogram, attract = (
    pyopencl.Kernel(program, name) for name in ["scale", "blur", "transpose", "histogram", "attract"]
)


def buffer(array):
    flags = pyopencl.mem_flags.READ_WRITE | pyopencl.mem_flags.COPY_HOST_PTR
    return pyopencl.Buffer(context, flags, hostbuf=array)


random = numpy.random.default_rng(1)
image = buffer(random.random(SIZE * SIZE, dtype=numpy.float32))
other = buffer(numpy.zeros(SIZE * SIZE, dtype=numpy.float32))
bins = buffer(numpy.zeros(64, dtype=numpy.int32))
bodies = buffer(random.random((BODIES, 4), dtype=numpy.float32))
forces = buffer(numpy.zeros((BODIES, 4), dtype=numpy.float32))
width = numpy.int32(SIZE)
for _ in range(10):
    blur(queue, (SIZE - 4, SIZE - 4), None, image, other, width)
    transpose(queue, (SIZE, SIZE), None, other, image, width)
    scale(queue, (SIZE * SIZE,), None, image, numpy.float32(0.99))
    histogram(queue, (SIZE * SIZE,), None, image, bins)
    attract(queue, (BODIES,), None, bodies, forces, numpy.int32(BODIES))
    queue.finish()
counts = numpy.empty(64, dtype=numpy.int32)
pyopencl.enqueue_copy(queue, counts, bins)
print("counted", counts.sum(), "values")
