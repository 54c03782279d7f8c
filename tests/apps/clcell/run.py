"""Cellular automata of clcell beside a simulation in NumPy."""

import time

import numpy as np
from clcell import LIFE, CASimulator, RuleSet

from common import case, equal, package_version, spent

package_version("clcell")
random = np.random.default_rng(1)


def grid(*shape):
    """A random state; the cells at the border are empty, as clcell demands."""
    state = np.zeros(shape, dtype=np.int8)
    state[..., 1:-1, 1:-1] = random.integers(0, 2, (*shape[:-2], shape[-2] - 2, shape[-1] - 2))
    return state


def simulate(rules, steps, state):
    """What clcell should compute for one grid."""
    tables = np.array([rules.unpopulated, rules.populated], dtype=np.int8)
    rows, columns = state.shape
    for _ in range(steps):
        offsets = [(row, column) for row in range(3) for column in range(3) if (row, column) != (1, 1)]
        neighbours = sum(state[row : rows - 2 + row, column : columns - 2 + column] for row, column in offsets)
        inside = tables[state[1:-1, 1:-1], neighbours]
        state = np.zeros_like(state)
        state[1:-1, 1:-1] = inside
    return state


def array(result):
    return result.get() if hasattr(result, "get") else np.asarray(result)


def main():
    start = time.monotonic()
    rulesets = {"life": LIFE}
    for number in range(3):
        rulesets[f"random rules {number}"] = RuleSet(*random.integers(0, 2, (2, 9)).astype(bool).tolist())
    for name, rules in rulesets.items():
        simulator = CASimulator(rules)
        for shape in [(3, 3), (16, 16), (64, 100), (257, 130)]:
            state = grid(*shape)
            for steps in (0, 1, 20):
                with case(f"{name}, {shape[0]} x {shape[1]}, {steps} steps"):
                    equal(array(simulator.simulate(steps, state)), simulate(rules, steps, state))
        states = grid(7, 40, 33)
        with case(f"{name}, seven grids"):
            equal(array(simulator.batch_simulate(9, states)), np.stack([simulate(rules, 9, state) for state in states]))
    spent("run", time.monotonic() - start)


main()
