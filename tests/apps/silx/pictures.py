"""A plugin of pytest: pictures that SciPy would fetch from the network are made up."""

import numpy as np
import scipy.datasets


def made_up(rows, columns):
    """Edges, blobs and texture of several scales."""
    random = np.random.default_rng(9)
    y, x = np.mgrid[:rows, :columns]
    picture = 60 + 40 * np.sin(x / 23.0) * np.cos(y / 31.0) + 30 * ((x // 37 + y // 53) % 2)
    for _ in range(200):
        at, size = random.random(2) * [rows, columns], random.uniform(2, 12)
        picture += random.uniform(-80, 80) * np.exp(-((y - at[0]) ** 2 + (x - at[1]) ** 2) / (2 * size**2))
    return np.clip(picture + random.normal(0, 2, picture.shape), 0, 255).astype(np.uint8)


scipy.datasets.ascent = lambda: made_up(512, 512)
scipy.datasets.face = lambda gray=False: made_up(768, 1024) if gray else np.stack([made_up(768, 1024)] * 3, -1)
