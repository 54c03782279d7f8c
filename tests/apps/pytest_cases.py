"""A plugin of pytest that logs each test as it starts and ends, so that what was done before a crash is known.

`common.pytest` reads the log, CLIFT_APP_PYTEST_LOG. Tests listed in the file beside it are left out.
"""

import os
from pathlib import Path

LOG = Path(os.environ["CLIFT_APP_PYTEST_LOG"])


def log(*words):
    with LOG.open("a") as file:
        file.write("\t".join(" | ".join(str(word).split("\n")).replace("\t", " ") for word in words) + "\n")


def pytest_collection_modifyitems(config, items):
    without = set(LOG.with_suffix(".deselect").read_text().split("\n"))
    left_out = [item for item in items if item.nodeid in without or item.nodeid.split("[")[0] in without]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]


def pytest_runtest_logstart(nodeid, location):
    log("start", nodeid)


RESULTS = {}
# What tests that fetch their data say on a machine without a network.
NO_NETWORK = ("URLError", "Name or service not known", "name resolution", "NameResolutionError", "Max retries exceeded")


def pytest_runtest_logreport(report):
    # The worst of set-up, test and clean-up counts.
    name, known = report.nodeid, RESULTS.get(report.nodeid)
    if report.failed and known is None:
        text = str(report.longrepr.reprcrash.message) if hasattr(report.longrepr, "reprcrash") else str(report.longrepr)
        if any(sign in text for sign in NO_NETWORK):
            RESULTS[name] = ("skipped", "needs the network")
            return
        RESULTS[name] = ("failed", (report.when + ": " if report.when != "call" else "") + text[:400])
    elif report.skipped and known is None:
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else getattr(report, "wasxfail", "")
        RESULTS[name] = ("skipped", str(reason)[:200] or "expected to fail")


def pytest_runtest_logfinish(nodeid, location):
    result, reason = RESULTS.pop(nodeid, ("ok", ""))
    log(result, nodeid, reason)


def pytest_collectreport(report):
    if report.failed:
        log("failed", report.nodeid or "collection", "collection: " + str(report.longrepr)[-300:])
