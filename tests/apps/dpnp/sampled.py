"""A plugin of pytest that keeps a few parameter sets of each test: the suites have a hundred thousand of them.

CLIFT_SAMPLE says how many. Those kept are spread evenly, so that they are the same on all drivers.
"""

import os

MOST = int(os.environ["CLIFT_SAMPLE"])


def pytest_collection_modifyitems(config, items):
    sets = {}
    for item in items:
        sets.setdefault(item.nodeid.split("[")[0], []).append(item)
    kept = set()
    for members in sets.values():
        step = max(1.0, len(members) / MOST)
        kept.update(members[int(step * at)] for at in range(min(MOST, len(members))))
    left_out = [item for item in items if item not in kept]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item in kept]
