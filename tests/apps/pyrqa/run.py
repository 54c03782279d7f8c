"""Recurrence plots and recurrence quantification of random series beside NumPy."""

import time

import numpy as np
from pyrqa.analysis_type import Classic, Cross
from pyrqa.computation import RPComputation, RQAComputation
from pyrqa.metric import EuclideanMetric, MaximumMetric, TaxicabMetric
from pyrqa.neighbourhood import FixedRadius
from pyrqa.settings import Settings
from pyrqa.time_series import TimeSeries

from common import case, equal, package_version, spent

package_version("PyRQA")
random = np.random.default_rng(1)
DISTANCES = {
    EuclideanMetric: lambda difference: np.sqrt((difference**2).sum(2)),
    MaximumMetric: lambda difference: difference.max(2),
    TaxicabMetric: lambda difference: difference.sum(2),
}
RADIUS, DELAY = 0.3, 2


def vectors(series):
    return np.stack([series[:-DELAY], series[DELAY:]], 1)


def diagonals(matrix, theiler):
    """The lengths of all diagonal lines of a recurrence matrix, without the diagonals nearer than `theiler` to the main one."""
    lengths = []
    rows, columns = matrix.shape
    for offset in range(-rows + 1, columns):
        if abs(offset) >= theiler:
            padded = np.concatenate(([0], np.diagonal(matrix, offset), [0]))
            ends = np.flatnonzero(np.diff(padded.astype(np.int8)))
            lengths.extend(ends[1::2] - ends[::2])
    return np.array(lengths)


def compare(name, kind, sizes, metric):
    series = [random.random(size, dtype=np.float32) for size in sizes]
    wrapped = tuple(TimeSeries(list(one), embedding_dimension=2, time_delay=DELAY) for one in series)
    first, second = vectors(series[0]), vectors(series[-1])
    expected = DISTANCES[metric](np.abs(first[:, None] - second[None])) < RADIUS
    theiler = 1 if kind is Classic else 0
    settings = Settings(
        wrapped if kind is Cross else wrapped[0],
        analysis_type=kind, neighbourhood=FixedRadius(RADIUS), similarity_measure=metric, theiler_corrector=theiler,
    )  # fmt: skip
    with case(f"{name}, plot"):
        got = RPComputation.create(settings).run().recurrence_matrix
        equal(np.asarray(got).astype(bool).reshape(-1), (expected if kind is Classic else expected.T).reshape(-1), different=1e-4)
    with case(f"{name}, measures"):
        result = RQAComputation.create(settings, verbose=False).run()
        result.min_diagonal_line_length = 2
        lengths = diagonals(expected, theiler)
        share = lengths[lengths >= 2].sum() / lengths.sum()
        equal([result.longest_diagonal_line], [lengths.max()])
        equal([result.determinism], [share], relative=1e-3)


def main():
    start = time.monotonic()
    for metric in DISTANCES:
        title = metric.__name__.removesuffix("Metric").lower()
        for size in (37, 600, 1500):
            compare(f"{title}, {size}", Classic, [size], metric)
        compare(f"{title}, 300 by 500", Cross, [300, 500], metric)
    spent("run", time.monotonic() - start)


main()
