"""Small images of LuxCore's example scenes, path traced in kernels and on the processor with the same sampler.

Both are noisy estimates of the same image; blocks of pixels are compared. Kernels sample a film bucket by bucket, and stop when the
mean number of samples is reached: pixels that have none yet are left out.
"""

import os
import sys
import time
from pathlib import Path

from common import PATIENCE, QUICK, case, ended, equal, package_version, run, spent

SIZE, BLOCK, SAMPLES = 32, 8, 128
LIMIT = 120
SCENES = [
    "luxball-glossy2", "luxball-copper", "luxball-roughglass", "luxball-velvet", "luxball-carpaint", "luxball-hdr",
    "proctexball", "proctexball-mix", "texball", "mix1ball",
]  # fmt: skip


def render(scene, engine, result):
    import numpy as np
    import pyluxcore
    import pyluxcoretest

    os.chdir(Path(pyluxcoretest.__file__).parent)
    pyluxcore.Init()
    properties = pyluxcore.Properties(f"scenes/luxball/{scene}.cfg")
    for name, value in {
        "renderengine.type": engine,
        "sampler.type": "SOBOL",
        "film.width": SIZE,
        "film.height": SIZE,
        "film.opencl.enable": 0,
        "batch.haltspp": SAMPLES,
        "opencl.cpu.use": 1,
        "opencl.native.threads.count": 0,
        "opencl.kernelcache": "NONE",
        "opencl.task.count": 2048,
    }.items():
        properties.Set(pyluxcore.Property(name, value))
    session = pyluxcore.RenderSession(pyluxcore.RenderConfig(properties))
    start = time.monotonic()
    session.Start()
    while not session.HasDone():
        time.sleep(0.05)
        session.UpdateStats()
    session.Stop()
    spent(f"{scene} {engine}", time.monotonic() - start)
    image = np.zeros(SIZE * SIZE * 3, np.float32)
    session.GetFilm().GetOutputFloat(pyluxcore.FilmOutputType.RGB, image)
    np.save(result, image.reshape(SIZE, SIZE, 3))
    sys.stdout.flush()
    # Interpreter and library are not taken down in a safe order.
    os._exit(0)


def blocks(image, sampled):
    """Means of blocks over the pixels that are sampled; zero where too few are."""
    import numpy as np

    shape = (SIZE // BLOCK, BLOCK, SIZE // BLOCK, BLOCK)
    count = sampled.reshape(shape).sum((1, 3))
    total = np.where(sampled, np.minimum(image.sum(2), 20.0), 0).reshape(shape).sum((1, 3))
    return np.where(count >= BLOCK * BLOCK // 2, total / np.maximum(count, 1), 0)


def compare(scene):
    import numpy as np

    images = []
    for engine in ("PATHCPU", "PATHOCL"):
        result = Path(f"{scene}-{engine}.npy").resolve()
        status, output = run([sys.executable, __file__, scene, engine, result], limit=LIMIT)
        print("\n".join(line for line in output.splitlines() if line.startswith("time ")), flush=True)
        if status != 0:
            print(output, file=sys.stderr)
            raise AssertionError(f"{engine}: {ended(status, LIMIT * PATIENCE)}")
        images.append(np.load(result))
    sampled = images[1].sum(2) > 0
    assert sampled.mean() > 0.5, f"{sampled.mean():.0%} of the pixels are not black"
    equal(blocks(images[1], sampled), blocks(images[0], sampled), relative=0.25, units=0.05)


if len(sys.argv) > 1:
    render(*sys.argv[1:])
package_version("pyluxcore")
for scene in SCENES[:2] if QUICK else SCENES:
    with case(scene):
        compare(scene)
