"""Operations of neural networks with their gradients on the OpenCL backend of netcl, beside those on its NumPy backend."""

import time

import netcl.autograd.ops as operations
import numpy as np
from netcl.autograd.engine import Tape
from netcl.core.device import manager
from netcl.core.tensor import Tensor

from common import case, equal, package_version, spent

package_version("netcl")
random = np.random.default_rng(1)


def normal(*shape):
    return random.standard_normal(shape, dtype=np.float32)


def positive(*shape):
    return random.random(shape, dtype=np.float32) * np.float32(0.9) + np.float32(0.05)


def classes(rows, count):
    return np.eye(count, dtype=np.float32)[random.integers(0, count, rows)]


def cases():
    """Names of operations with their operands and options."""
    plane = (37, 53)
    for name in ("add", "sub", "mul", "maximum", "minimum", "mse_loss", "smooth_l1_loss", "add_relu"):
        yield name, [normal(*plane), normal(*plane)], {}
    yield "div", [normal(*plane), positive(*plane)], {}
    for name in (
        "relu", "sigmoid", "tanh", "gelu", "swish", "elu", "softplus", "hard_sigmoid", "hard_swish", "hard_tanh",
        "abs", "square", "exp", "leaky_relu",
    ):  # fmt: skip
        yield name, [3 * normal(*plane)], {}
    for name in ("log", "log1p", "sqrt", "rsqrt"):
        yield name, [positive(*plane)], {}
    yield "pow", [positive(*plane), 2.5], {}
    yield "clamp", [normal(*plane), -0.5, 0.5], {}
    for rows, inner, columns in ((37, 53, 41), (128, 256, 192), (1, 300, 10)):
        yield "matmul_op", [normal(rows, inner), normal(inner, columns)], {}
    yield "linear_relu", [normal(37, 53), normal(53, 41), normal(41)], {}
    yield "bmm", [normal(5, 17, 23), normal(5, 23, 19)], {}
    for channels, size, filters, width, stride, pad in (
        (3, 21, 8, 3, 1, 1), (8, 32, 16, 3, 2, 1), (16, 14, 32, 1, 1, 0), (16, 16, 16, 5, 1, 2), (4, 15, 6, 7, 2, 3),
    ):  # fmt: skip
        operands = [normal(2, channels, size, size + 2), normal(filters, channels, width, width), normal(filters)]
        yield "conv2d", operands, {"stride": stride, "pad": pad}
    yield "conv2d_relu", [normal(2, 3, 19, 23), normal(8, 3, 3, 3), normal(8)], {"stride": 1, "pad": 1}
    yield "depthwise_conv2d", [normal(2, 6, 15, 17), normal(6, 1, 3, 3), normal(6)], {"pad": 1}
    for name in ("max_pool2d", "avg_pool2d", "global_avg_pool2d"):
        yield name, [normal(2, 3, 20, 24)], {}
    yield "prelu", [normal(2, 6, 7, 9), positive(6)], {}
    yield "bias_add", [normal(*plane), normal(53)], {}
    yield "layer_norm", [normal(37, 64), normal(64), normal(64)], {}
    yield "group_norm", [normal(2, 6, 7, 9), normal(6), normal(6)], {"groups": 3}
    yield "softmax", [normal(*plane)], {}
    yield "softmax", [normal(7, 12, 33)], {"axis": 1}
    yield "permute", [normal(3, 4, 5, 6), (2, 0, 3, 1)], {}
    yield "sum", [normal(*plane)], {}
    yield "sum", [normal(*plane)], {"axis": 0}
    yield "sum", [normal(7, 12, 33)], {"axis": 1, "keepdims": True}
    yield "mean", [normal(*plane)], {"axis": 1}
    yield "binary_cross_entropy", [positive(*plane), positive(*plane)], {}
    yield "binary_cross_entropy_with_logits", [normal(*plane), positive(*plane)], {}
    yield "cross_entropy", [normal(37, 10), classes(37, 10)], {}
    yield "info_nce_loss", [normal(32, 24), normal(32, 24)], {}
    yield "l2_normalize", [normal(*plane)], {}
    yield "pairwise_squared_distances", [normal(*plane)], {}


def results(queue, name, operands, options, weights):
    """The result of an operation on one backend, and the gradients of its sum, weighted, by all array operands."""
    tape = Tape()
    nodes = [
        operations.tensor(Tensor.from_host(queue, operand), requires_grad=True) if isinstance(operand, np.ndarray) else operand
        for operand in operands
    ]
    with tape:
        node = getattr(operations, name)(*nodes, tape=tape, **options)
    tape.backward(node, Tensor.from_host(queue, weights(node.value.shape)))
    gradients = [node.grad for node in nodes if hasattr(node, "grad")]
    return [node.value.to_host(), *(gradient.to_host() for gradient in gradients if gradient is not None)]


def main():
    start = time.monotonic()
    host, device = manager.default("cpu").queue, manager.default("auto").queue
    for name, operands, options in cases():
        shapes = " by ".join("x".join(map(str, operand.shape)) for operand in operands if isinstance(operand, np.ndarray))
        more = "".join(f", {key} {value}" for key, value in options.items())

        def weights(shape):
            return np.random.default_rng(2).standard_normal(shape, dtype=np.float32)

        with case(f"{name} {shapes}{more}"):
            expected = results(host, name, operands, options, weights)
            got = results(device, name, operands, options, weights)
            assert len(got) == len(expected), f"{len(got)} results instead of {len(expected)}"
            for one, other in zip(got, expected, strict=True):
                equal(one.reshape(-1), other.reshape(-1), relative=1e-4, absolute=1e-5)
    spent("run", time.monotonic() - start)


main()
