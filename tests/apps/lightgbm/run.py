"""Trees trained on the OpenCL device beside those trained on the processor."""

import lightgbm as lgb
import numpy as np

from common import QUICK, case, package_version

package_version("lightgbm")
random = np.random.default_rng(3)


def data(rows, columns, categories=0, sparse=0.0):
    x = random.standard_normal((rows, columns)).astype(np.float32)
    x[random.random(x.shape) < sparse] = 0
    for column in range(categories):
        x[:, column] = random.integers(0, 12, rows)
    y = np.sin(x[:, -1]) + 0.5 * x[:, -2] * x[:, -3] + (x[:, 0] > 4) + 0.1 * random.standard_normal(rows)
    return x, y


def train(x, y, device, **more):
    parameters = {"device_type": device, "verbose": -1, "num_leaves": 31, "deterministic": True, "num_threads": 2, "seed": 1, **more}
    categories = [i for i in range(x.shape[1]) if np.all(x[:, i] == np.round(x[:, i])) and x[:, i].max() > 2]
    return lgb.train(parameters, lgb.Dataset(x, y, categorical_feature=categories or "auto"), 10).predict(x)


def check(name, x, y, close, **more):
    with case(name):
        cpu, gpu = train(x, y, "cpu", **more), train(x, y, "gpu", **more)
        # Sums in single precision choose other splits where two are nearly as good: the models must be equally good.
        error = [np.mean((prediction - y) ** 2) for prediction in (cpu, gpu)]
        assert abs(error[1] - error[0]) < 0.02 * error[0], f"mean error {error[1]} instead of {error[0]}"
        different = np.mean(np.abs(cpu - gpu) > 1e-3 * np.std(cpu))
        assert different < close, f"{different:.0%} of predictions differ"


rows = 2000 if QUICK else 10000
for bins in (15, 63, 255):
    x, y = data(rows, 20)
    check(f"regression, {bins} bins, double", x, y, 0.02, objective="regression", max_bin=bins, gpu_use_dp=True)
    check(f"regression, {bins} bins, single", x, y, 0.9, objective="regression", max_bin=bins)
if not QUICK:
    x, y = data(rows, 12, categories=3)
    check("categories", x, y, 0.05, objective="regression", gpu_use_dp=True, max_bin=63)
    x, y = data(rows, 20, sparse=0.9)
    check("sparse columns", x, y, 0.05, objective="regression", gpu_use_dp=True, max_bin=63)
    x, y = data(rows, 20)
    check("weights and bagging", x, y, 0.05, objective="regression", gpu_use_dp=True, max_bin=63, bagging_fraction=0.5, bagging_freq=1)
    check("binary classes", x, (y > 0).astype(float), 0.05, objective="binary", gpu_use_dp=True, max_bin=63)
