"""Runs FFmpeg's OpenCL filters and compares the frames with those of the CPU's filters of the same names.

The filters of the two kinds round differently, and some treat borders differently: a case says how many levels of brightness a
sample may differ by, and what share of the samples by more than that.
"""

import re
import subprocess
import time
from pathlib import Path

import numpy as np
from common import QUICK, case, run, spent, version

WIDTH, HEIGHT, FRAMES = 320, 240, 4
SECOND = "testsrc2=s={0}x{1}:r=25,hue=h=90,hflip"
SHARPEN = "0 -1 0 -1 5 -1 0 -1 0"
NOISE = "noise=alls=20:allf=t:all_seed=1"

# Name, pixel format, the filter for the CPU, that for OpenCL, levels, share of the samples beyond.
FILTERS = [
    ("avgblur", "yuv420p", "avgblur=sizeX=3", "avgblur_opencl=sizeX=3", 2, 0.06),
    ("avgblur by planes", "yuv420p", "avgblur=sizeX=4:sizeY=2:planes=1", "avgblur_opencl=sizeX=4:sizeY=2:planes=1", 2, 0.06),
    ("boxblur", "yuv420p", "boxblur=3:2:2:1", "boxblur_opencl=3:2:2:1", 3, 0.06),
    ("convolution", "yuv420p", f"convolution='{SHARPEN}'", f"convolution_opencl='{SHARPEN}'", 2, 0.01),
    ("colorkey", "rgba", "colorkey=red:0.3:0.2", "colorkey_opencl=red:0.3:0.2", 2, 0.01),
    ("dilation", "yuv420p", "dilation", "dilation_opencl", 0, 0),
    ("erosion", "yuv420p", "erosion", "erosion_opencl", 0, 0),
    ("erosion by thresholds", "gray", "erosion=threshold0=30", "erosion_opencl=threshold0=30", 0, 0),
    ("nlmeans", "yuv420p", f"{NOISE},nlmeans=s=6:p=5:r=9", f"{NOISE},hwupload,nlmeans_opencl=s=6:p=5:r=9", 3, 0.07),
    ("pad", "yuv420p", "pad=400:300:20:10:black", "pad_opencl=400:300:20:10:black", 1, 0),
    ("prewitt", "yuv420p", "prewitt=scale=0.5:delta=10", "prewitt_opencl=scale=0.5:delta=10", 2, 0.01),
    ("roberts", "yuv420p", "roberts=scale=2", "roberts_opencl=scale=2", 3, 0.01),
    ("sobel", "yuv420p", "sobel", "sobel_opencl", 2, 0.01),
    ("transpose", "yuv420p", "transpose=clock", "transpose_opencl=clock", 0, 0),
    ("transpose and flip", "rgba", "transpose=cclock_flip", "transpose_opencl=cclock_flip", 0, 0),
    ("unsharp", "yuv420p", "unsharp=5:5:1.5:5:5:-0.5", "unsharp_opencl=5:5:1.5:5:5:-0.5", 2, 0.08),
    ("unsharp of 13 by 13", "yuv420p", "unsharp=13:13:0.8", "unsharp_opencl=13:13:0.8", 2, 0.09),
    ("program", "rgba", "negate=components=r+g+b", "program_opencl=source=program.cl:kernel=negate", 1, 0),
]  # fmt: skip
XFADES = ["fade", "wipeleft", "wiperight", "wipeup", "wipedown", "slideleft", "slideright", "slideup", "slidedown"]
PROGRAM = """
kernel void negate(write_only image2d_t to, unsigned int index, read_only image2d_t from) {
    const sampler_t nearest = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_NEAREST;
    int2 at = (int2)(get_global_id(0), get_global_id(1));
    if (at.x >= get_image_width(to) || at.y >= get_image_height(to)) return;
    float4 color = read_imagef(from, nearest, at);
    write_imagef(to, at, (float4)(1 - color.xyz, color.w));
}
kernel void ramp(write_only image2d_t to, unsigned int index) {
    int2 at = (int2)(get_global_id(0), get_global_id(1));
    if (at.x < get_image_width(to) && at.y < get_image_height(to))
        write_imagef(to, at, (float4)((at.x & 255) / 255.0f, (at.y & 255) / 255.0f, index * 50 / 255.0f, 1));
}
"""


def frames(graph, inputs, opencl, pixels="yuv420p", count=FRAMES):
    """The bytes of all frames that a filter graph makes."""
    command = ["ffmpeg", "-hide_banner", "-loglevel", "error", "-nostdin"]
    if opencl:
        command += ["-init_hw_device", "opencl=ocl:0.0", "-filter_hw_device", "ocl"]
    for source in inputs:
        command += ["-f", "lavfi", "-i", source]
    command += ["-filter_complex", graph, "-frames:v", str(count), "-pix_fmt", pixels, "-f", "rawvideo", "out.raw"]
    Path("out.raw").unlink(missing_ok=True)
    status, output = run([*command, "-y"], 120)
    if status != 0:
        raise AssertionError(f"{status}: {output}")
    data = np.fromfile("out.raw", dtype=np.uint8)
    assert data.size, "no frames"
    return data.astype(np.int16)


def close(got, expected, levels, share):
    assert got.size == expected.size, f"{got.size} bytes instead of {expected.size}"
    differ = np.abs(got - expected)
    beyond = np.count_nonzero(differ > levels) / differ.size
    print(f"at most {differ.max()}, mean {differ.mean():.4f}, {beyond:.5f} beyond {levels}")
    assert beyond <= share, f"{beyond:.4f} of the samples differ by more than {levels}, at most by {differ.max()}"


def filters(test):
    for name, pixels, cpu, opencl, levels, share in FILTERS:
        upload = "" if "hwupload" in opencl else "hwupload,"
        if not upload:
            before, opencl = opencl.split(",hwupload,")
            upload = f"{before},hwupload,"
        with case(name):
            expected = frames(f"format={pixels},{cpu},format={pixels}", [test], False, pixels)
            got = frames(f"format={pixels},{upload}{opencl},hwdownload,format={pixels}", [test], True, pixels)
            close(got, expected, levels, share)


def of_two(test):
    second = SECOND.format(WIDTH, HEIGHT)
    small = SECOND.format(100, 80)
    both = "[0:v]format={0}[a];[1:v]format={0}[b];"
    uploaded = "[0:v]format={0},hwupload[a];[1:v]format={0},hwupload[b];"
    with case("overlay"):
        expected = frames(both.format("yuv420p") + "[a][b]overlay=40:30:eof_action=endall", [test, small], False)
        got = frames(
            uploaded.format("yuv420p") + "[a][b]overlay_opencl=40:30,hwdownload,format=yuv420p", [test, small], True
        )
        close(got, expected, 1, 0)
    for kind in XFADES[:2] if QUICK else XFADES:
        with case(f"xfade {kind}"):
            options = f"transition={kind}:duration=0.12:offset=0.04"
            expected = frames(both.format("yuv420p") + f"[a][b]xfade={options}", [test, second], False)
            got = frames(
                uploaded.format("yuv420p") + f"[a][b]xfade_opencl={options},hwdownload,format=yuv420p",
                [test, second],
                True,
            )
            close(got, expected, 2, 0.07)
    with case("remap"):
        maps = [f"nullsrc=s={WIDTH}x{HEIGHT}:r=25,format=gray16,geq='{of}'" for of in ("W-1-X", "mod(Y+20,H)")]
        graph = "[0:v]format=rgba{0}[a];[1:v]format=gray16{0}[x];[2:v]format=gray16{0}[y];[a][x][y]"
        expected = frames(graph.format("") + "remap,format=rgba", [test, *maps], False, "rgba")
        got = frames(graph.format(",hwupload") + "remap_opencl=interp=near,hwdownload,format=rgba", [test, *maps], True, "rgba")
        close(got, expected, 1, 0.005)


def others(test):
    with case("openclsrc"):
        source = f"openclsrc=source=program.cl:kernel=ramp:size={WIDTH}x{HEIGHT}:rate=25:format=rgba"
        got = frames(f"{source},hwdownload,format=rgba", [], True, "rgba").reshape(FRAMES, HEIGHT, WIDTH, 4)
        frame, y, x = np.indices((FRAMES, HEIGHT, WIDTH))
        expected = np.stack([x & 255, y & 255, np.minimum(frame * 50, 255), np.full_like(x, 255)], axis=-1)
        close(got, expected, 1, 0)
    with case("tonemap"):  # a ramp of grey stays one, and the filter for the CPU takes linear light only
        ramp = f"nullsrc=s={WIDTH}x{HEIGHT}:r=25,format=yuv420p10,geq=lum='64+X*2':cb=512:cr=512"
        hdr = "setparams=color_primaries=bt2020:color_trc=smpte2084:colorspace=bt2020nc:range=tv,format=p010,hwupload"
        opencl = "tonemap_opencl=tonemap=hable:desat=0:peak=100:t=bt709:m=bt709:p=bt709:format=nv12"
        got = frames(f"{hdr},{opencl},hwdownload,format=nv12,format=yuv420p", [ramp], True, count=1)
        luma, chroma = got[: WIDTH * HEIGHT].reshape(HEIGHT, WIDTH), got[WIDTH * HEIGHT :]
        print(luma[0, ::40], chroma.min(), chroma.max())
        assert (luma == luma[0]).all() and (np.diff(luma[0]) >= 0).all(), "the ramp is none"
        assert luma[0, 0] <= 18 and luma[0, -1] > 100, f"from {luma[0, 0]} to {luma[0, -1]}"
        assert np.abs(chroma - 128).max() <= 5, f"colour {chroma.min()} to {chroma.max()}"
    with case("deshake"):
        steady = f"mandelbrot=s={WIDTH}x{HEIGHT}:r=25:start_scale=0.01,format=gray,loop=loop=-1:size=1,setpts=N/25/TB"
        shaken = f"{steady},crop={WIDTH - 40}:{HEIGHT - 40}:'20+12*sin(n*1.7)':'20+12*cos(n*2.3)'"
        before = frames("null", [shaken], False, "gray", 12).reshape(12, HEIGHT - 40, WIDTH - 40)
        after = frames("format=yuv420p,hwupload,deshake_opencl,hwdownload,format=yuv420p", [shaken], True, "gray", 12)
        inner = (slice(None), slice(30, -30), slice(30, -30))
        motion = [np.abs(np.diff(v[inner], axis=0)).mean() for v in (before, after.reshape(before.shape))]
        print(f"motion {motion}")
        assert motion[1] < motion[0] * 0.8, f"differences between frames {motion[1]:.2f}, {motion[0]:.2f} before"


def main():
    version(re.search(r"version (\S+?)-", subprocess.run(["ffmpeg", "-version"], capture_output=True, text=True).stdout)[1])
    Path("program.cl").write_text(PROGRAM)
    test = f"testsrc2=s={WIDTH}x{HEIGHT}:r=25"
    start = time.monotonic()
    filters(test)
    of_two(test)
    others(test)
    spent("run", time.monotonic() - start)


main()
