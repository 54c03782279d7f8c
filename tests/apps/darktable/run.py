"""Develops a raw image (a DNG file made here) and a plain one with darktable-cli, with OpenCL and without.

darktable compiles all of its programs at the start, some 30; which of them are used depends on the workflow. It takes GPUs only.
"""

import re
import struct
import time
from pathlib import Path

import numpy as np
from common import as_gpu, case, ended, run, spent, version

WIDTH, HEIGHT = 384, 256
WORKFLOWS = ["scene-referred (filmic)", "scene-referred (sigmoid)", "display-referred (legacy)", "none"]
LIMIT = 300


def scene():
    y, x = np.indices((HEIGHT, WIDTH)) / HEIGHT
    image = np.stack([0.2 + 0.4 * x, 0.3 + 0.3 * y, 0.5 - 0.2 * x * y], axis=-1)
    image[60:120, 80:160] = (0.7, 0.1, 0.1)
    image[(x - 1) ** 2 + (y - 0.5) ** 2 < 0.05] = (1.3, 1.2, 1.1)
    return image + np.random.default_rng(2).normal(0, 0.01, image.shape)


def dng(path, image):
    """A raw image of 16 bits with a Bayer pattern, as a TIFF file with the tags of DNG."""
    y, x = np.indices(image.shape[:2])
    bayer = np.choose((y % 2) * 2 + x % 2, [image[..., 0] * 0.5, image[..., 1], image[..., 1], image[..., 2] * 0.6])
    data = (bayer.clip(0, 1) * 15000 + 512).astype("<u2").tobytes()
    byte, text, short, long, rational, srational = 1, 2, 3, 4, 5, 10
    matrix = [0.9, -0.3, -0.1, -0.4, 1.2, 0.2, -0.1, 0.2, 0.6]
    tags = [
        (254, long, [0]), (256, long, [WIDTH]), (257, long, [HEIGHT]), (258, short, [16]), (259, short, [1]),
        (262, short, [32803]), (271, text, b"Gallery\0"), (272, text, b"Bayer\0"), (273, long, [0]), (274, short, [1]),
        (277, short, [1]), (278, long, [HEIGHT]), (279, long, [len(data)]), (284, short, [1]), (33421, short, [2, 2]),
        (33422, byte, bytes([0, 1, 1, 2])), (50706, byte, bytes([1, 4, 0, 0])), (50707, byte, bytes([1, 1, 0, 0])),
        (50708, text, b"Gallery Bayer\0"), (50710, byte, bytes([0, 1, 2])), (50711, short, [1]), (50714, short, [512]),
        (50717, short, [15512]), (50721, srational, matrix), (50728, rational, [0.5, 1.0, 0.6]), (50778, short, [21]),
    ]  # fmt: skip
    extra_at = 8 + 2 + 12 * len(tags) + 4
    directory, extra, strip = struct.pack("<H", len(tags)), b"", None
    for tag, kind, values in tags:
        if isinstance(values, bytes):
            packed = values
        elif kind in (rational, srational):
            packed = b"".join(struct.pack("<ii", round(v * 10000), 10000) for v in values)
        else:
            packed = struct.pack(f"<{len(values)}{'H' if kind == short else 'I'}", *values)
        count = len(values)
        if tag == 273:
            strip = len(directory) + 8
        if len(packed) > 4:
            at = extra_at + len(extra)
            extra += packed + b"\0" * (len(packed) % 2)
            packed = struct.pack("<I", at)
        directory += struct.pack("<HHI", tag, kind, count) + packed.ljust(4, b"\0")
    file = bytearray(struct.pack("<2sHI", b"II", 42, 8) + directory + struct.pack("<I", 0) + extra)
    file[strip + 8 : strip + 12] = struct.pack("<I", len(file))
    path.write_bytes(bytes(file) + data)


def pfm(path):
    kind, width, height, scale, data = re.match(rb"(PF|Pf)\s+(\d+)\s+(\d+)\s+(\S+)\s(.*)", path.read_bytes(), re.S).groups()
    order = "<f4" if float(scale) < 0 else ">f4"
    return np.frombuffer(data, order).reshape(int(height), int(width), -1).astype(np.float64)


def developed(source, workflow, opencl, environment):
    out = Path("out.pfm")
    out.unlink(missing_ok=True)
    core = ["--core", "--library", ":memory:", "--configdir", Path("config").resolve(), "--cachedir", Path("cache").resolve()]
    core += ["--conf", f"plugins/darkroom/workflow={workflow}", "--conf", "plugins/darkroom/chromatic-adaptation=modern"]
    core += ["-d", "opencl"] if opencl else ["--disable-opencl"]
    for side in Path().glob("*.xmp"):
        side.unlink()
    status, output = run(["darktable-cli", source, out, *core], LIMIT, env=environment)
    print(output[-8000:] if opencl else output[-500:], flush=True)
    assert status == 0 and out.exists(), f"{ended(status, LIMIT)} {output[-300:]}" if status else output[-300:]
    if opencl:
        assert "opencl is AVAILABLE" in output, "the device is not used"
        wrong = re.findall(r".*(?:couldn't process|failed to|error -?\d|CL_\w+ERR).*", output)
        assert not wrong, wrong[0]
    return pfm(out)


def main():
    version(re.search(r"(\d+\.\d+\.\d+)", run(["darktable-cli", "--version"])[1])[1])
    image = scene()
    dng(Path("raw.dng"), image)
    plain = (image.clip(0, 1) * 65535).astype(">u2").tobytes()
    Path("plain.ppm").write_bytes(f"P6\n{WIDTH} {HEIGHT}\n65535\n".encode() + plain)
    environment = as_gpu()
    start = time.monotonic()
    for source in ("raw.dng", "plain.ppm"):
        for workflow in WORKFLOWS:
            with case(f"{source}, {workflow}"):
                expected = developed(source, workflow, False, None)
                got = developed(source, workflow, True, environment)
                assert got.shape == expected.shape, f"shape {got.shape} instead of {expected.shape}"
                assert expected.std() > 0.05, "the image is empty"
                differ = np.abs(got - expected)
                print(f"differs by at most {differ.max()}, on average by {differ.mean()}")
                assert differ.mean() < 1e-3, f"differs on average by {differ.mean()}"
                assert np.count_nonzero(differ > 0.02) < differ.size * 0.002, f"differs by {differ.max()}"
    spent("run", time.monotonic() - start)


main()
