"""Its own tests, and tuning with each configuration's result compared with NumPy's."""

import kernel_tuner
import numpy as np

from common import QUICK, SOURCES, case, package_version, pytest

package_version("kernel-tuner")
random = np.random.default_rng(2)


def tune(name, source, size, arguments, answer, parameters, expected_count, **more):
    with case(name):
        results, _ = kernel_tuner.tune_kernel(
            name, source, size, arguments, parameters, lang="opencl", answer=answer, atol=1e-3, iterations=2, **more
        )
        right = [one for one in results if isinstance(one["time"], float)]
        assert len(right) == expected_count, f"{len(right)} of {expected_count} configurations gave the right result"


MATMUL = """
kernel void matmul(global float *c, global const float *a, global const float *b) {
    local float sa[block_size_y * tile][block_size_x], sb[block_size_x][block_size_x];
    int tx = get_local_id(0), ty = get_local_id(1), x = get_group_id(0) * block_size_x + tx;
    int y = get_group_id(1) * block_size_y * tile + ty;
    float sum[tile];
    for (int i = 0; i < tile; ++i) sum[i] = 0;
    for (int k = 0; k < N; k += block_size_x) {
        for (int i = 0; i < tile; ++i) sa[ty + i * block_size_y][tx] = a[(y + i * block_size_y) * N + k + tx];
        for (int i = ty; i < block_size_x; i += block_size_y) sb[i][tx] = b[(k + i) * N + x];
        barrier(CLK_LOCAL_MEM_FENCE);
        #pragma unroll
        for (int l = 0; l < block_size_x; ++l)
            for (int i = 0; i < tile; ++i) sum[i] += sa[ty + i * block_size_y][l] * sb[l][tx];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    for (int i = 0; i < tile; ++i) c[(y + i * block_size_y) * N + x] = sum[i];
}
"""
REDUCE = """
kernel void total(global float *out, global const VECTOR *in, int n) {
    local float part[block_size_x];
    int t = get_local_id(0);
    VECTOR sum = 0;
    for (int i = get_global_id(0); i < n / WIDTH; i += get_global_size(0)) sum += in[i];
#if WIDTH == 1
    part[t] = sum;
#elif WIDTH == 2
    part[t] = sum.x + sum.y;
#else
    part[t] = dot(sum, (float4)(1));
#endif
    for (int s = block_size_x / 2; s > 0; s >>= 1) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (t < s) part[t] += part[t + s];
    }
    if (t == 0) out[get_group_id(0)] = part[0];
}
"""
CONVOLVE = """
kernel void convolve(global float *out, global const float *in, constant float *f) {
    local float tile[block_size_y * tile_y + 6][block_size_x * tile_x + 6];
    int tx = get_local_id(0), ty = get_local_id(1);
    int bx = get_group_id(0) * block_size_x * tile_x, by = get_group_id(1) * block_size_y * tile_y;
    for (int j = ty; j < block_size_y * tile_y + 6; j += block_size_y)
        for (int i = tx; i < block_size_x * tile_x + 6; i += block_size_x)
            tile[j][i] = bx + i < W + 6 && by + j < H + 6 ? in[(by + j) * (W + 6) + bx + i] : 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int j = 0; j < tile_y; ++j)
        for (int i = 0; i < tile_x; ++i) {
            int x = tx + i * block_size_x, y = ty + j * block_size_y;
            float sum = 0;
            for (int v = 0; v < 7; ++v)
                for (int u = 0; u < 7; ++u) sum += tile[y + v][x + u] * f[v * 7 + u];
            if (bx + x < W && by + y < H) out[(by + y) * W + bx + x] = sum;
        }
}
"""
n = 128
a, b = random.random((2, n, n), dtype=np.float32)
tune(
    "matmul", f"#define N {n}\n" + MATMUL, (n, n), [np.zeros_like(a), a, b], [a @ b, None, None],
    {"block_size_x": [8, 16, 32], "block_size_y": [2, 8], "tile": [1, 2, 4]}, 18,
    grid_div_x=["block_size_x"], grid_div_y=["block_size_y*tile"],
)  # fmt: skip
if not QUICK:
    values = random.random(1 << 16, dtype=np.float32)
    parameters = {"block_size_x": [32, 64, 256], "WIDTH": [1, 2, 4], "groups": [8]}
    with case("total"):
        results, _ = kernel_tuner.tune_kernel(
            "total", lambda p: f"#define VECTOR float{p['WIDTH'] if p['WIDTH'] > 1 else ''}\n" + REDUCE, "groups",
            [np.zeros(8, np.float32), values, np.int32(values.size)], {**parameters}, lang="opencl", grid_div_x=[], iterations=2,
            answer=[np.array([values.sum()]), None, None], atol=1.0,
            verify=lambda answer, got, atol: abs(got[0].sum() - answer[0][0]) < 1e-3 * answer[0][0],
        )  # fmt: skip
        assert sum(isinstance(one["time"], float) for one in results) == 9, results
    w, h = 150, 90
    picture, weights = random.random((h + 6, w + 6), dtype=np.float32), random.random((7, 7), dtype=np.float32)
    right = sum(weights[v, u] * picture[v : v + h, u : u + w] for v in range(7) for u in range(7))
    tune(
        "convolve", f"#define W {w}\n#define H {h}\n" + CONVOLVE, (w, h), [np.zeros((h, w), np.float32), picture, weights],
        [right, None, None], {"block_size_x": [8, 16, 32], "block_size_y": [1, 4, 8], "tile_x": [1, 2], "tile_y": [1, 3]}, 36,
        grid_div_x=["block_size_x*tile_x"], grid_div_y=["block_size_y*tile_y"],
    )  # fmt: skip
    pytest(["test/test_opencl_functions.py"], "-o", "addopts=", cwd=next(SOURCES.glob("kernel_tuner-*")))
