import hashlib
import random
import re
from pathlib import Path

from common import QUICK, case, ended, run, version

LIMIT = 200
COUNT = 300 if QUICK else 3000
RANDOM = random.Random(1)
LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 !#$%&()*+,-./"


def text(shortest, longest):
    """A random word; spaces only inside of it."""
    length = RANDOM.randint(shortest, longest)
    inside = "".join(RANDOM.choice(LETTERS) for _ in range(length - 2))
    return "x" + inside + "y"


def key(network, password):
    return hashlib.pbkdf2_hmac("sha1", password.encode(), network.encode(), 4096, 32).hex()


def generate(*options):
    """The lines that the program writes with these options."""
    Path("keys").unlink(missing_ok=True)
    status, output = run(["wlangenpmkocl", *options, "-A", "keys"], LIMIT)
    assert status == 0, f"{ended(status, LIMIT)}: {output[-300:]}"
    return Path("keys").read_text().splitlines()


def expect(lines, pairs):
    assert len(lines) == len(pairs), f"{len(lines)} keys instead of {len(pairs)}"
    wrong = [word for line, (network, word) in zip(lines, pairs) if line != f"{key(network, word)}:{word}"]
    assert not wrong, f"{len(wrong)} of {len(pairs)} keys are wrong: first that of {wrong[0]!r}"


def main():
    version(re.search(r"wlangenpmkocl ([0-9.]+)", run(["wlangenpmkocl", "-h"])[1])[1])
    for longest in [10, 63]:
        with case(f"passwords of 8 to {longest} characters"):
            words = [text(8, longest) for _ in range(COUNT)]
            Path("words").write_text("".join(f"{word}\n" for word in words))
            network = text(4, 12)
            expect(generate("-e", network, "-i", "words"), [(network, word) for word in words])
    with case("networks with passwords"):
        pairs = [(text(4, 30).replace(":", "-"), text(8, 40)) for _ in range(COUNT // 10)]
        Path("pairs").write_text("".join(f"{network}:{word}\n" for network, word in pairs))
        expect(generate("-I", "pairs"), pairs)


main()
