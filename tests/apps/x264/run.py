"""Encodes with x264's lookahead on the device and without.

The decisions of both lookaheads are alike but not the same, so that rate and quality are compared. Those of the device also differ
from run to run (0.1 to 1.4 dB worse at the same rate, also with kernels of one lane), so that the median of several runs counts.
x264 takes GPUs only, and goes on without the device after an error: its messages are looked at.
"""

import math
import re
import statistics
import time

from common import QUICK, as_gpu, case, ended, run, spent, version

OPTIONS = {
    "default": [],
    "b-adapt 2, slow": ["--preset", "slow", "--b-adapt", "2"],
    "lookahead of 60, weights": ["--rc-lookahead", "60", "--weightp", "2"],
    "no B frames": ["--bframes", "0"],
}
LIMIT = 200
RUNS = 5


def encode(more, environment):
    command = ["x264", "--threads", "2", "--psnr", "--crf", "24", *more, "-o", "out.264", "in.y4m"]
    status, output = run(command, LIMIT, env=environment)
    print(output, flush=True)
    assert status == 0, ended(status, LIMIT)
    psnr, rate = re.search(r"Global:([\d.]+) kb/s:([\d.]+)", output).groups()
    return output, float(psnr), float(rate)


def main():
    version(run(["x264", "--version"])[1].split()[1])
    start = time.monotonic()
    source = "testsrc2=s=320x192:r=25:d=2,noise=alls=6:allf=t:all_seed=3,fade=t=out:st=1:d=1"
    run(["ffmpeg", "-v", "error", "-f", "lavfi", "-i", source, "-pix_fmt", "yuv420p", "-y", "in.y4m"])
    environment = as_gpu()
    for name, more in list(OPTIONS.items())[: 1 if QUICK else None]:
        with case(name):
            _, expected_psnr, expected_rate = encode(more, None)
            worse = []
            for _ in range(RUNS):
                output, psnr, rate = encode([*more, "--opencl"], environment)
                wrong = re.findall(r"warning\]: (OpenCL.*)|error\]: (.*)", output)
                assert not wrong, wrong[0]
                assert "OpenCL acceleration enabled" in output, "the device is not used"
                # What a decibel costs at this rate: 1.41 times the bytes for 3 dB.
                worse.append(expected_psnr - psnr + 6 * math.log2(rate / expected_rate))
                print(f"{worse[-1]:.2f} dB worse at the same rate")
            median = statistics.median(worse)
            assert median < 1, f"{median:.2f} dB worse at the same rate, the median of {worse}"
    spent("run", time.monotonic() - start)


main()
