"""Runs the tests of the Rust crates opencl3, cl3, ocl and ocl-core, and their examples."""

import re
import time

from common import BUILD, SOURCES, Skip, as_gpu, case, ended, failed, passed, run, skipped, spent, version

# Tests look for a GPU or CPU of a name; examples print, and check their results by assertions.
# What is tested of each: opencl3's unit tests and an example of ocl do not compile as released.
CRATES = {
    "opencl3-0.12.4": ["--features=serde", "--test=*"],
    "cl3-0.13.2": ["--lib", "--test=*"],
    "ocl-0.19.7": ["--lib"],
    "ocl-core-0.11.5": ["--lib"],
}
WITHOUT = {"async_cycles", "async_menagerie"}  # runs for minutes by intention
OPTIONS = ["--include-ignored", "--test-threads=1"]
LIMIT = 200


GPU = as_gpu()  # most examples look for one


def cargo(crate, *arguments, limit=1500):
    environment = {**GPU, "CARGO_TARGET_DIR": str(BUILD), "RUST_BACKTRACE": "0"}
    return run(["cargo", *arguments], limit, cwd=SOURCES / crate, env=environment)


def main():
    version(", ".join(CRATES))
    seconds = 0
    for crate, targets in CRATES.items():
        name = crate.rsplit("-", 1)[0]
        manifest = SOURCES / crate / "Cargo.toml"
        if name == "ocl":  # its tests use a feature of a dependency that the manifest leaves out
            rand = '[dev-dependencies.rand]\nversion = "0.8"\n'
            manifest.write_text(manifest.read_text().replace(rand + "\n", rand + 'features = ["small_rng"]\n\n'))
        status, output = cargo(crate, "test", "--no-run", "--quiet", *targets)
        if status != 0:
            failed(f"{name}, build", re.findall("error.*", output)[:1] or ended(status, 1500))
            continue
        start = time.monotonic()
        status, output = cargo(crate, "test", "--no-fail-fast", *targets, "--", *OPTIONS, limit=LIMIT)
        print(output, flush=True)
        for test, result in re.findall(r"^test (\S+::\S+|test_\S+).*? \.\.\. (?:.*?)(ok|FAILED|ignored)$", output, re.M | re.S):
            reason = re.search(rf"---- {re.escape(test)} stdout ----\s+(.*?)\n\n", output, re.S)
            full = f"{name}, {test}"
            {"ok": passed, "ignored": lambda of: skipped(of, "ignored")}.get(
                result, lambda of, why=reason: failed(of, why[1] if why else "it failed")
            )(full)
        if status is None or status < 0 or "panicked" not in output and status not in (0, 101):
            failed(f"{name}, tests", ended(status, LIMIT))
        for example in sorted((SOURCES / crate / "examples").glob("*.rs")):
            if example.stem in WITHOUT:
                continue
            with case(f"{name}, example {example.stem}"):
                status, output = cargo(crate, "run", "--quiet", *[t for t in targets if "features" in t], "--example", example.stem, limit=LIMIT)
                print(output[-3000:], flush=True)
                wrong = re.findall(r"error\S*: .*|panicked at .*\n.*", output)
                if any("required-features" in w or "requires the features" in w for w in wrong):
                    raise Skip("needs features that are off")
                assert status == 0, f"{ended(status, LIMIT)} {wrong[:1]}"
        seconds += time.monotonic() - start
    spent("run", seconds)


main()
