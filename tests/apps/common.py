"""What the programs' scripts share: reporting cases, comparing arrays, running test suites case by case.

A script prints lines that `cargo xtask apps` reads (docs/add-an-application.md).
"""

import contextlib
import importlib.metadata
import os
import re
import signal
import subprocess
import sys
import time
import traceback
from pathlib import Path

QUICK = "CLIFT_APP_QUICK" in os.environ
SOURCES = Path(os.environ.get("CLIFT_APP_SOURCES", "."))
BUILD = Path(os.environ.get("CLIFT_APP_BUILD", "build"))
PATIENCE = int(os.environ.get("CLIFT_APP_PATIENCE", "1"))


def one_line(text):
    return " | ".join(str(text).split("\n")).strip()[:400]


def version(text):
    print(f"version {one_line(text)}", flush=True)


def package_version(name):
    version(importlib.metadata.version(name))


def passed(name):
    print(f"case {one_line(name)} ok", flush=True)


def failed(name, reason):
    print(f"case {one_line(name)} failed: {one_line(reason)}", flush=True)


def skipped(name, reason):
    print(f"case {one_line(name)} skipped: {one_line(reason)}", flush=True)


def spent(label, seconds):
    print(f"time {label} {seconds:.3f}", flush=True)


class Skip(Exception):
    """Raised in a case that cannot be run here."""


@contextlib.contextmanager
def case(name):
    """A case is what is inside; it fails when that raises."""
    try:
        yield
    except Skip as reason:
        skipped(name, reason)
    except Exception as error:
        traceback.print_exc()
        failed(name, f"{type(error).__name__}: {error}")
    else:
        passed(name)


def equal(got, expected, relative=0.0, absolute=0.0, units=0.0, different=0.0):
    """Raises unless arrays are equal within tolerances, but for a share of `different` elements.

    `absolute` counts in units of the largest expected value where that is above one, `units` as it is.
    """
    import numpy as np

    got, expected = np.asarray(got), np.asarray(expected)
    assert got.shape == expected.shape, f"shape {got.shape} instead of {expected.shape}"
    if got.dtype == bool or expected.dtype == bool:
        wrong = got != expected
    else:
        kind = np.complex128 if np.iscomplexobj(expected) else np.float64
        got, expected = got.astype(kind), expected.astype(kind)
        finite = np.abs(expected[np.isfinite(expected)])
        scale = max(1.0, finite.max()) if finite.size else 1.0
        wrong = ~np.isclose(got, expected, rtol=relative, atol=absolute * scale + units, equal_nan=True)
    count = np.count_nonzero(wrong)
    if count > different * wrong.size:
        at = tuple(int(i[0]) for i in np.nonzero(np.atleast_1d(wrong)))
        pair = np.atleast_1d(got)[at], np.atleast_1d(expected)[at]
        raise AssertionError(f"{count} of {wrong.size} differ; at {at}: {pair[0]} instead of {pair[1]}")


def run(command, limit=120, **more):
    """Runs a program in bounded time; gives its exit status (None at the limit) and its output.

    The limit is for unchecked kernels on an idle machine.
    """
    child = subprocess.Popen(
        [str(word) for word in command],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, errors="replace", **more,
    )  # fmt: skip
    try:
        output, _ = child.communicate(timeout=limit * PATIENCE)
        return child.returncode, output
    except subprocess.TimeoutExpired:
        child.kill()
        return None, child.communicate()[0]


def ended(status, limit):
    """How a program ended that did not end well."""
    if status is None:
        return f"still running after {limit} s"
    return f"signal {signal.Signals(-status).name}" if status < 0 else f"exit status {status}"


def plain(test):
    """A test's name without what differs between drivers."""
    return re.sub(r"<context factory for <pyopencl.Device .*?>>", "device", test)


def pytest(paths, *options, cwd=None, prefix="", deselect=(), limit=300, env=None):
    """Runs tests by pytest, each test a case. A test that crashes or takes `limit` seconds is a failed case, and the rest
    is run without it."""
    cwd = Path(cwd or ".")
    log = Path("pytest.log").resolve()
    environment = {**os.environ, "CLIFT_APP_PYTEST_LOG": str(log), **(env or {})}
    done, broken = set(), 0
    while True:
        log.write_text("")
        without = log.with_suffix(".deselect")
        without.write_text("\n".join([*deselect, *done]))
        child = subprocess.Popen(
            [sys.executable, "-m", "pytest", "-q", "--no-header", "--tb=short",
             "-p", "pytest_cases", "-p", "no:cacheprovider", *options, *[str(path) for path in paths]],
            cwd=cwd, env=environment, stdin=subprocess.DEVNULL, stdout=sys.stderr,
        )  # fmt: skip
        running, since, read = None, time.monotonic(), 0
        while True:
            ending = child.poll()
            with log.open() as file:
                file.seek(read)
                text = file.read()
            lines = text[: text.rfind("\n") + 1]
            read += len(lines.encode())
            for line in lines.splitlines():
                word, _, rest = line.partition("\t")
                since = time.monotonic()
                if word == "start":
                    running = rest
                    continue
                test, _, reason = rest.partition("\t")
                done.add(test)
                running = None
                name = prefix + plain(test)
                {"ok": lambda: passed(name), "failed": lambda: failed(name, reason),
                 "skipped": lambda: skipped(name, reason)}[word]()  # fmt: skip
            if ending is not None:
                break
            if time.monotonic() - since > limit * PATIENCE:
                child.kill()
                child.wait()
                ending = None
                break
            time.sleep(0.1)
        if ending is not None and 0 <= ending <= 5 and running is None:
            if ending in (2, 3, 4):
                failed(prefix + "pytest", f"exit status {ending}: see the run's errors.txt")
            return
        broken += 1
        if running is None or broken > 40:
            failed(prefix + "pytest", f"{ended(ending, limit)} outside of any test, or too often")
            return
        done.add(running)
        failed(prefix + plain(running), ended(ending, limit))


def as_gpu():
    """The environment of a program that takes GPUs only: a layer of the loader shows it the device as one."""
    BUILD.mkdir(parents=True, exist_ok=True)
    source, library = Path(__file__).with_name("as_gpu.c"), BUILD / "libas_gpu.so"
    flags = ["-O2", "-shared", "-fPIC", "-DCL_TARGET_OPENCL_VERSION=300"]
    subprocess.run(["cc", *flags, source, "-o", library], check=True)
    layers = [os.environ.get("OPENCL_LAYERS", ""), str(library)]
    return {**os.environ, "OPENCL_LAYERS": ":".join(filter(None, layers))}
