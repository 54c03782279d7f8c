"""Packs a Python wheel: wheel.py ROOT VERSION TAG EPOCH OUTPUT-DIRECTORY.

ROOT is the tree that `./run package` makes. The library and its .icd file go to `pyopencl/.libs`, where the loader that PyOpenCL's
wheels contain looks for drivers. The result depends on nothing but the arguments and the files.
"""
import base64
import hashlib
import pathlib
import sys
import time
import zipfile

root, version, tag, epoch, output = sys.argv[1:]
root, here = pathlib.Path(root), pathlib.Path(__file__).parent
information = f"clift-{version}.dist-info"

METADATA = f"""Metadata-Version: 2.1
Name: clift
Version: {version}
Summary: OpenCL driver for CPUs
License: Apache-2.0 OR MIT
Requires-Python: >=3.8
Description-Content-Type: text/plain

An OpenCL driver for CPUs, for PyOpenCL: after `pip install pyopencl clift`, PyOpenCL shows the platform "Clift".
`clift.library()` is the path of the driver for other programs.
"""
WHEEL = f"Wheel-Version: 1.0\nGenerator: clift\nRoot-Is-Purelib: false\nTag: {tag}\n"

files = [
    ("clift/__init__.py", (here / "wheel_init.py").read_bytes(), 0o644),
    ("pyopencl/.libs/clift.icd", b"libclift.so\n", 0o644),
    ("pyopencl/.libs/libclift.so", (root / "usr/lib/clift/libclift.so").read_bytes(), 0o755),
    *(
        (f"clift-{version}.data/scripts/{program.name}", program.read_bytes(), 0o755)
        for program in sorted((root / "usr/bin").iterdir())
    ),
    (f"{information}/METADATA", METADATA.encode(), 0o644),
    (f"{information}/WHEEL", WHEEL.encode(), 0o644),
]


def digest(content):
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()


record = "".join(f"{name},sha256={digest(content)},{len(content)}\n" for name, content, _ in files)
record += f"{information}/RECORD,,\n"
files.append((f"{information}/RECORD", record.encode(), 0o644))

# A zip archive has no times before 1980.
when = time.gmtime(max(int(epoch), 315532800))[:6]
with zipfile.ZipFile(pathlib.Path(output) / f"clift-{version}-{tag}.whl", "w") as archive:
    for name, content, mode in files:
        entry = zipfile.ZipInfo(name, when)
        entry.compress_type = zipfile.ZIP_DEFLATED
        entry.external_attr = (0o100000 | mode) << 16
        archive.writestr(entry, content)
