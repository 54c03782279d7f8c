"""Evaluates positions with networks of random weights, on the device and by Leela Zero's own CPU path.

Leela Zero tunes its matrix product at the start, and compares some evaluations with those of the CPU itself. It takes GPUs only.
"""

import random
import re
import time
from pathlib import Path

from common import as_gpu, case, ended, run, spent, version

NETWORKS = {"small": (1, 16), "wide": (3, 64)}  # residual blocks and channels
MOVES = ["black D4", "white Q16", "black C16", "white R4", "black K10"]
PROGRAM, LIMIT = "/usr/games/leelaz", 250


def network(path, blocks, channels):
    """A network in Leela Zero's text format: a line for each layer's weights, biases, means and variances."""
    source = random.Random(blocks)

    def numbers(count, scale):
        return " ".join(f"{source.gauss(0, scale):.5f}" for _ in range(count))

    def convolution(inputs, outputs, size):
        weights = numbers(outputs * inputs * size * size, (2 / (inputs * size * size)) ** 0.5)
        variances = " ".join(f"{source.uniform(0.5, 1.5):.5f}" for _ in range(outputs))
        return [weights, numbers(outputs, 0), numbers(outputs, 0.1), variances]

    def connected(inputs, outputs):
        return [numbers(outputs * inputs, inputs**-0.5), numbers(outputs, 0.1)]

    lines = ["1", *convolution(18, channels, 3)]
    for _ in range(2 * blocks):
        lines += convolution(channels, channels, 3)
    lines += convolution(channels, 2, 1) + connected(2 * 361, 362)
    lines += convolution(channels, 1, 1) + connected(361, 256) + connected(256, 1)
    path.write_text("\n".join(lines) + "\n")


def evaluated(weights, *options):
    """The policy in thousandths, and the values, of positions before and after some moves."""
    Path("commands.txt").write_text("\n".join(["heatmap 0", *[f"play {m}" for m in MOVES], "heatmap 0", "heatmap 3", "quit\n"]))
    command = f"{PROGRAM} --gtp -w {weights} {' '.join(options)} < commands.txt"
    status, output = run(["sh", "-c", command], LIMIT, env=as_gpu())
    print(output[-6000:], flush=True)
    assert status == 0, f"{ended(status, LIMIT)} {output[-300:]}"
    values = [float(value) for value in re.findall(r"winrate: ([\d.]+)", output)]
    policy = [int(n) for row in re.findall(r"^((?: *\d+){19}) *$", output, re.M) for n in row.split()]
    assert len(values) == 3 and len(policy) == 3 * 361, f"{len(values)} values and {len(policy)} probabilities"
    return policy, values


def main():
    version(run(["dpkg-query", "-W", "-f", "${Version}", "leela-zero"])[1].split("-")[0])
    start = time.monotonic()
    for name, (blocks, channels) in NETWORKS.items():
        weights = Path(f"{name}.txt")
        network(weights, blocks, channels)
        for precision in ("single", "half"):
            with case(f"{name} network, {precision}"):
                expected, values = evaluated(weights, "--cpu-only")
                got, got_values = evaluated(weights, "--precision", precision)
                worst = max(abs(a - b) for a, b in zip(got, expected, strict=True))
                assert worst <= (1 if precision == "single" else 4), f"probabilities differ by {worst} thousandths"
                worst = max(abs(a - b) for a, b in zip(got_values, values, strict=True))
                assert worst < (1e-4 if precision == "single" else 2e-2), f"values differ by {worst}"
    spent("run", time.monotonic() - start)


main()
