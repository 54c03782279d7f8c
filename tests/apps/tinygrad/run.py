"""A sweep over tensor operations and their gradients, beside NumPy's."""

import os
import shutil

os.environ["DEV"] = "CL"
os.environ["CACHELEVEL"] = "0"
# For what it computes on the host.
os.environ["CC"] = next(filter(shutil.which, ["clang", "clang-22", "clang-21", "clang-20"]), "cc")

import numpy as np
from tinygrad import Context, Device, Tensor, dtypes, nn

from common import QUICK, SOURCES, case, equal, package_version, pytest

package_version("tinygrad")
print(Device.DEFAULT)
random = np.random.default_rng(11)


def arrays(*shapes, low=-2.0, high=2.0):
    return [(low + (high - low) * random.random(shape)).astype(np.float32) for shape in shapes]


def check(name, function, reference, *inputs, gradient=True, relative=1e-4, absolute=1e-5):
    """The function beside NumPy's, and its gradient beside differences of NumPy's."""
    with case(name):
        tensors = [Tensor(one) for one in inputs]
        result = function(*tensors)
        expected = reference(*[one.astype(np.float64) if one.dtype == np.float32 else one for one in inputs])
        equal(result.numpy(), expected, relative=relative, absolute=absolute)
        if not gradient:
            return
        weights = random.random(result.shape)
        (result * Tensor(weights.astype(np.float32))).sum().backward()
        direction = [random.standard_normal(one.shape) for one in inputs]
        step = 1e-5
        ends = [np.sum(weights * reference(*[one + sign * step * d for one, d in zip(map(np.float64, inputs), direction)])) for sign in (1, -1)]
        slope = (ends[0] - ends[1]) / (2 * step)
        found = sum(np.sum(tensor.grad.numpy() * d) for tensor, d in zip(tensors, direction) if tensor.grad is not None)
        assert abs(found - slope) < 2e-2 * max(1, abs(slope)), f"slope {found} instead of {slope}"


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def soft(x, axis=-1):
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def elementwise():
    one, two, positive = arrays((45, 65)), arrays((45, 65), (45, 65)), arrays((45, 65), low=0.2)
    unary = {
        "exp": np.exp, "exp2": np.exp2, "sin": np.sin, "cos": np.cos, "tan": np.tan, "neg": np.negative, "abs": np.abs, "square": np.square,
        "sigmoid": sigmoid, "tanh": np.tanh, "relu": lambda x: np.maximum(x, 0), "softplus": lambda x: np.log1p(np.exp(x)),
        "silu": lambda x: x * sigmoid(x), "elu": lambda x: np.where(x > 0, x, np.expm1(x)), "softsign": lambda x: x / (1 + np.abs(x)),
        "sinh": np.sinh, "cosh": np.cosh, "leaky_relu": lambda x: np.where(x > 0, x, 0.01 * x), "mish": lambda x: x * np.tanh(np.log1p(np.exp(x))),
        "quick_gelu": lambda x: x * sigmoid(1.702 * x), "hardswish": lambda x: x * np.clip(x + 3, 0, 6) / 6,
    }  # fmt: skip
    for name, reference in unary.items():
        loose = 2e-3 if name == "tan" else 1e-4
        check(name, getattr(Tensor, name), reference, *one, relative=loose, gradient=name != "tan")
    for name, reference in {"log": np.log, "log2": np.log2, "sqrt": np.sqrt, "rsqrt": lambda x: x**-0.5, "reciprocal": lambda x: 1 / x}.items():
        check(name, getattr(Tensor, name), reference, *positive)
    for name in ("floor", "ceil", "trunc", "round", "sign"):
        check(name, getattr(Tensor, name), getattr(np, name), *one, gradient=False)
    binary = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "maximum": np.maximum, "minimum": np.minimum}
    for name, reference in binary.items():
        check(name, getattr(Tensor, name), reference, *two)
        check(name + " broadcast", getattr(Tensor, name), reference, *arrays((9, 1, 7), (1, 5, 7)))
    check("div", Tensor.div, np.divide, one[0], positive[0])
    check("pow", Tensor.pow, np.power, positive[0], one[0])
    check("where", lambda x, y: (x > y).where(x, y * 2), lambda x, y: np.where(x > y, x, y * 2), *two)
    check("clip", lambda x: x.clip(-0.5, 0.7), lambda x: np.clip(x, -0.5, 0.7), *one)
    for name, kind in {"int8": np.int8, "uint8": np.uint8, "int16": np.int16, "int32": np.int32, "uint32": np.uint32, "int64": np.int64}.items():
        a, b = random.integers(1, 100, (2, 50, 33)).astype(kind)
        for label, function in {"sum": lambda x, y: x + y, "product": lambda x, y: x * y, "and": lambda x, y: x & y, "xor": lambda x, y: x ^ y,
                                "quotient": lambda x, y: x // y, "remainder": lambda x, y: x % y, "less": lambda x, y: x < y}.items():  # fmt: skip
            check(f"{label} {name}", function, function, a, b, gradient=False)
        check(f"to {name}", lambda x: (x * 40).cast(getattr(dtypes, name)), lambda x: np.trunc(np.float32(x) * np.float32(40)).astype(kind), *arrays((40, 40), low=0, high=3), gradient=False)
    half = one[0].astype(np.float16)
    check("half", lambda x: (x * x + 1).exp(), lambda x: np.exp(x.astype(np.float32) ** 2 + 1), half, gradient=False, relative=1e-2)


def reductions():
    x = arrays((13, 24, 35))[0]
    for axis in (None, 0, 1, 2, (0, 2)):
        for name, reference in {"sum": np.sum, "mean": np.mean, "max": np.max, "min": np.min, "std": lambda v, axis: np.std(v, axis=axis, ddof=1)}.items():
            check(f"{name} {axis}", lambda t: getattr(t, name)(axis=axis), lambda v: reference(v, axis=axis), x)
    for axis in (0, 1, 2):
        check(f"softmax {axis}", lambda t: t.softmax(axis), lambda v: soft(v, axis), x)
        check(f"log_softmax {axis}", lambda t: t.log_softmax(axis), lambda v: np.log(soft(v, axis)), x)
        check(f"logsumexp {axis}", lambda t: t.logsumexp(axis), lambda v: np.log(np.exp(v).sum(axis)), x)
        check(f"argmax {axis}", lambda t: t.argmax(axis), lambda v: v.argmax(axis), x, gradient=False)
        check(f"cumsum {axis}", lambda t: t.cumsum(axis), lambda v: np.cumsum(v, axis), x)
        check(f"sort {axis}", lambda t: t.sort(axis)[0], lambda v: np.sort(v, axis), x, gradient=False)
    check("prod", lambda t: t.prod(1), lambda v: v.prod(1), *arrays((5, 7)))
    check("cumsum long", lambda t: t.cumsum(0), lambda v: np.cumsum(v, 0), *arrays((3000,)), relative=1e-3)
    check("layernorm", lambda t: t.layernorm(), lambda v: (v - v.mean(-1, keepdims=True)) / np.sqrt(v.var(-1, keepdims=True) + 1e-5), x)
    check("any and all", lambda t: (t > 1.9).any(0) & (t > -3).all(0), lambda v: (v > 1.9).any(0) & (v > -3).all(0), x, gradient=False)


def movement():
    x = arrays((6, 10, 14))[0]
    check("permute", lambda t: t.permute(2, 0, 1) * 2, lambda v: v.transpose(2, 0, 1) * 2, x)
    check("flip", lambda t: t.flip(0, 2) + 1, lambda v: v[::-1, :, ::-1] + 1, x)
    check("slice", lambda t: t[1:5, ::2, -9:-2] * 3, lambda v: v[1:5, ::2, -9:-2] * 3, x)
    check("pad", lambda t: t.pad(((1, 2), (0, 3), (4, 0))) + 1, lambda v: np.pad(v, ((1, 2), (0, 3), (4, 0))) + 1, x)
    for mode in ("reflect", "circular", "replicate"):
        check(f"pad {mode}", lambda t: t.reshape(1, 6, 10, 14).pad((3, 2, 1, 4), mode=mode), lambda v: np.pad(v.reshape(1, 6, 10, 14), ((0, 0), (0, 0), (1, 4), (3, 2)), {"reflect": "reflect", "circular": "wrap", "replicate": "edge"}[mode]), x)
    check("concatenation", lambda t: Tensor.cat(t, t * 2, dim=1), lambda v: np.concatenate([v, v * 2], 1), x)
    check("stack", lambda t: Tensor.stack(t, t + 1, dim=2), lambda v: np.stack([v, v + 1], 2), x)
    check("repeat", lambda t: t.repeat((2, 1, 3)), lambda v: np.tile(v, (2, 1, 3)), x)
    check("expand", lambda t: t.reshape(6, 1, 140).expand(6, 4, 140) + 1, lambda v: np.broadcast_to(v.reshape(6, 1, 140), (6, 4, 140)) + 1, x)
    check("roll", lambda t: t.roll(3, 1), lambda v: np.roll(v, 3, 1), x)
    check("triangle", lambda t: t.tril(1) + t.triu(-2), lambda v: np.tril(v, 1) + np.triu(v, -2), x)
    rows = random.integers(0, 6, 20)
    check("gather by rows", lambda t: t[Tensor(rows)], lambda v: v[rows], x)
    index = random.integers(0, 14, (6, 10, 5))
    check("gather", lambda t: t.gather(2, Tensor(index)), lambda v: np.take_along_axis(v, index, 2), x)
    check("one hot", lambda t: Tensor(rows).one_hot(6) + t[0, 0, 0] * 0, lambda v: np.eye(6)[rows], x, gradient=False)


def convolution(x, w, stride=1, padding=0):
    x = np.pad(x, ((0, 0), (0, 0), (padding, padding), (padding, padding)))
    windows = np.lib.stride_tricks.sliding_window_view(x, w.shape[2:], (2, 3))[:, :, ::stride, ::stride]
    return np.einsum("bchwij,ocij->bohw", windows, w)


def products():
    for m, k, n in [(1, 64, 1), (64, 64, 64), (99, 130, 47), (33, 1, 65), (256, 256, 256)]:
        check(f"matmul {m} {k} {n}", Tensor.matmul, np.matmul, *arrays((m, k), (k, n)))
    check("batched matmul", Tensor.matmul, np.matmul, *arrays((4, 5, 20, 31), (4, 5, 31, 18)))
    check("einsum", lambda a, b: Tensor.einsum("bik,bjk->bij", a, b), lambda a, b: np.einsum("bik,bjk->bij", a, b), *arrays((3, 12, 9), (3, 15, 9)))
    for stride in (1, 2):
        for padding in (0, 1, 2):
            check(f"conv2d stride {stride} padding {padding}", lambda a, w: a.conv2d(w, stride=stride, padding=padding), lambda a, w: convolution(a, w, stride, padding), *arrays((2, 4, 17, 19), (6, 4, 3, 3)))
    check("conv2d 1x1", Tensor.conv2d, convolution, *arrays((2, 16, 9, 9), (8, 16, 1, 1)))
    check("conv2d 5x5", Tensor.conv2d, convolution, *arrays((1, 3, 20, 20), (4, 3, 5, 5)))

    def pooled(v, way):
        return way(v.reshape(2, 4, 9, 2, 10, 2), (3, 5))

    check("max_pool2d", lambda t: t.max_pool2d((2, 2)), lambda v: pooled(v, np.max), *arrays((2, 4, 18, 20)))
    check("avg_pool2d", lambda t: t.avg_pool2d((2, 2)), lambda v: pooled(v, np.mean), *arrays((2, 4, 18, 20)))
    q, k, v = arrays((2, 4, 20, 16), (2, 4, 20, 16), (2, 4, 20, 16))
    check("attention", Tensor.scaled_dot_product_attention, lambda q, k, v: soft(q @ k.swapaxes(-1, -2) / 4) @ v, q, k, v)


def training():
    with case("training a network on a made-up task"):
        Tensor.manual_seed(1)
        layers = [nn.Conv2d(1, 8, 3), nn.BatchNorm(8), nn.Conv2d(8, 16, 3), nn.Linear(16 * 4 * 4, 4)]

        def network(x):
            x = layers[1](layers[0](x)).relu().max_pool2d((2, 2))
            return layers[3](layers[2](x).relu().flatten(1).dropout(0.1)) if x.shape[-1] == 6 else None

        optimizer = nn.optim.Adam(nn.state.get_parameters(layers), lr=0.01)
        labels = random.integers(0, 4, 256)
        pictures = 0.3 * random.standard_normal((256, 1, 14, 14)).astype(np.float32)
        for picture, label in zip(pictures, labels):
            picture[0, label * 3 : label * 3 + 3] += 1
        pictures = pictures[:, :, :, :].astype(np.float32)
        accuracy = 0.0
        with Context(TRAINING=1):
            for step in range(25):
                chosen = random.permutation(256)[:64]
                x, y = Tensor(pictures[chosen]), Tensor(labels[chosen].astype(np.int32))
                optimizer.zero_grad()
                loss = network(x).sparse_categorical_crossentropy(y).backward()
                optimizer.step()
        accuracy = float((network(Tensor(pictures)).argmax(-1).numpy() == labels).mean())
        assert accuracy > 0.9, f"accuracy {accuracy}, loss {loss.item()}"
    with case("random numbers"):
        Tensor.manual_seed(7)
        first = Tensor.rand(10000).numpy()
        assert abs(first.mean() - 0.5) < 0.02 and first.min() >= 0 and first.max() < 1 and abs(first.std() - 0.2887) < 0.01
        Tensor.manual_seed(7)
        equal(Tensor.rand(10000).numpy(), first)


pytest(["test/test_tiny.py"], cwd=next(SOURCES.glob("tinygrad-*")))
for part in (elementwise, reductions, movement, products, training) if not QUICK else (movement,):
    part()
