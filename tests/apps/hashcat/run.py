"""Cracks hashcat's example hash of each mode, after the self-test that hashcat makes by itself at each start.

Modes of all kinds of kernel: fast hashes (one kernel), salted and iterated ones (kernels of initialization, loop and
comparison), block ciphers, and those with much local or global memory (bcrypt, scrypt). One hash is cracked in all attack modes.
"""

import json
import os
import re
import time
from pathlib import Path

from common import QUICK, case, ended, run, spent, version

SHORT = [0, 1000, 1400]
MODES = SHORT + [
    10, 100, 300, 400, 500, 900, 1100, 1500, 1600, 1700, 1800, 2100, 2600, 3000, 3200, 5100, 5500, 5600, 6000, 6100, 6900,
    7400, 7500, 8900, 9600, 10400, 10500, 11300, 11600, 11700, 13100, 13400, 14000, 16500, 17300, 18200, 19000, 20500, 22000,
    23100,
]  # fmt: skip
MD5 = "8743b52063cd84097a65d1633f5c74f5"
ATTACKS = {
    "a combination": ["-a", "1", "left.txt", "right.txt"],
    "a mask": ["-a", "3", "hash?l?l?l"],
    "dictionary and mask": ["-a", "6", "left.txt", "?l?l?l"],
    "mask and dictionary": ["-a", "7", "?l?l?l?l", "right.txt"],
}
OPTIONS = ["--force", "--potfile-disable", "--restore-disable", "--logfile-disable", "--quiet", "-D", "1,2,3"]
LIMIT = 900


def crack(mode, hashed, attack, word):
    Path("hash.txt").write_text(hashed + "\n")
    out = Path("cracked.txt")
    out.unlink(missing_ok=True)
    command = ["hashcat", "-m", mode, *OPTIONS, "--outfile", out, "--outfile-format", "2", "hash.txt", *attack]
    status, output = run(command, LIMIT)
    print(output, flush=True)
    wrong = [line for line in output.splitlines() if re.search("error|fail", line, re.I)]
    assert status in (0, 1), f"{ended(status, LIMIT)} {' '.join(wrong[:1])}"
    assert not wrong, wrong[0]
    found = out.read_text(errors="replace").splitlines() if out.exists() else []
    assert found == [word], f"found {found} instead of {word}"


def main():
    version(run(["hashcat", "--version"])[1].strip().lstrip("v"))
    os.environ["XDG_DATA_HOME"] = str(Path("data").resolve())
    Path("left.txt").write_text("cash\nhash\ndash\n")
    Path("right.txt").write_text("dog\ncat\nbird\n")
    start = time.monotonic()
    for mode in SHORT if QUICK else MODES:
        _, output = run(["hashcat", "-m", mode, "--example-hashes", "--machine-readable"])
        fields = json.loads(re.search(r"\{.*\}", output, re.S)[0])[str(mode)]
        with case(f"{mode} {fields['name']}"):
            word = fields["example_pass"]
            Path("words.txt").write_text(f"wrong\nHashcat!\n{word}\nanother\n")
            crack(mode, fields["example_hash"], ["-a", "0", "words.txt"], word)
    for name, attack in {} if QUICK else ATTACKS.items():
        with case(f"0 MD5, {name}"):
            crack(0, MD5, attack, "hashcat")
    spent("run", time.monotonic() - start)


main()
