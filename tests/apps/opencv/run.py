"""A sweep over OpenCV's transparent API: each function on UMat (OpenCL) beside the same function on arrays (no OpenCL)."""

import contextlib
import copy
import os
import sys
import tempfile

os.environ["OPENCV_OPENCL_DEVICE"] = ":CPU:"
os.environ["OPENCV_OPENCL_RAISE_ERROR"] = "1"

import cv2
import numpy as np

from common import QUICK, case, equal, failed, version

version(cv2.__version__)
random = np.random.default_rng(7)
ROWS, COLUMNS = 123, 237
DEPTHS = {"8u": np.uint8, "8s": np.int8, "16u": np.uint16, "16s": np.int16, "32s": np.int32, "32f": np.float32, "64f": np.float64}


def image(depth, channels=1, low=None, high=None, smooth=False):
    """A random image, or a smooth one with noise, as in photographs."""
    kind = DEPTHS[depth]
    shape = (ROWS, COLUMNS) if channels == 1 else (ROWS, COLUMNS, channels)
    if np.issubdtype(kind, np.integer):
        limits = np.iinfo(kind)
        low = max(limits.min, -10000) if low is None else low
        high = min(limits.max, 10000) if high is None else high
    else:
        low, high = (0.0 if low is None else low), (1.0 if high is None else high)
    if smooth:
        y, x = np.mgrid[:ROWS, :COLUMNS]
        wave = 0.5 + 0.2 * np.sin(x / 9.0) + 0.2 * np.cos(y / 7.0) + 0.1 * random.random((ROWS, COLUMNS))
        values = wave if channels == 1 else np.stack([np.roll(wave, 5 * c, 1) for c in range(channels)], -1)
    else:
        values = random.random(shape)
    return (low + np.clip(values, 0, 1) * (high - low)).astype(kind)


def on_device(value):
    if isinstance(value, np.ndarray):
        return cv2.UMat(value)
    return [on_device(one) for one in value] if isinstance(value, list) else value


def on_host(value):
    if isinstance(value, cv2.UMat):
        return value.get()
    return [on_host(one) for one in value] if isinstance(value, (tuple, list)) else value


def compare(got, expected, **tolerance):
    if isinstance(expected, (tuple, list)):
        assert len(got) == len(expected)
        for one, other in zip(got, expected):
            compare(one, other, **tolerance)
    elif expected is not None:
        equal(got, expected, **tolerance)


@contextlib.contextmanager
def builds():
    """Raises when a build failed meanwhile: OpenCV then goes on without OpenCL, and only prints the log."""
    sys.stdout.flush()
    with tempfile.TemporaryFile() as file:
        saved = os.dup(1)
        os.dup2(file.fileno(), 1)
        try:
            yield
        finally:
            os.dup2(saved, 1)
            os.close(saved)
        file.seek(0)
        text = file.read().decode(errors="replace")
    print(text, end="", file=sys.stderr)
    assert "OpenCL program build log" not in text, text


def check(name, function, *arguments, relative=1e-5, absolute=1e-6, units=0.0, different=0.0, **keywords):
    """One function. Integers may be off by one: how intermediate results are rounded is not prescribed."""
    with case(name), builds():
        cv2.ocl.setUseOpenCL(False)
        expected = function(*[copy.deepcopy(one) for one in arguments], **keywords)
        cv2.ocl.setUseOpenCL(True)
        got = on_host(function(*[on_device(one) for one in arguments], **keywords))
        compare(got, expected, relative=relative, absolute=absolute, units=units, different=different)


def arithmetic():
    for depth in DEPTHS:
        for channels in (1, 3, 4):
            a, b = image(depth, channels), image(depth, channels)
            label = f"{depth}C{channels}"
            # Sums and differences of saturated integers are exact, products and quotients are rounded.
            near = 1.01 if depth[-1] != "f" else 1e-6
            for name in ("add", "subtract", "absdiff", "min", "max"):
                check(f"{name} {label}", getattr(cv2, name), a, b)
            for name, more in {"multiply": [0.01], "divide": [3.0]}.items():
                check(f"{name} {label}", getattr(cv2, name), a, b, *more, units=near)
            check(f"addWeighted {label}", cv2.addWeighted, a, 0.7, b, 0.2, 3.0, units=near)
            if channels == 1:
                check(f"compare {label}", cv2.compare, a, b, cv2.CMP_GE)
                check(f"threshold {label}", lambda x: cv2.threshold(x, 0.4, 100, cv2.THRESH_TRUNC)[1], a) if depth in ("8u", "16s", "32f") else None
                check(f"sumElems {label}", cv2.sumElems, a, relative=1e-5)
                check(f"countNonZero {label}", cv2.countNonZero, a)
                check(f"minMaxLoc {label}", cv2.minMaxLoc, a)
                check(f"meanStdDev {label}", cv2.meanStdDev, a, relative=1e-4)
            for norm in ("L1", "L2", "INF"):
                check(f"norm {norm} {label}", lambda x, y, kind: cv2.norm(x, y, kind), a, b, getattr(cv2, "NORM_" + norm), relative=1e-4)
            if depth in ("8u", "32s", "32f"):
                check(f"flip {label}", cv2.flip, a, -1)
                check(f"transpose {label}", cv2.transpose, a)
                check(f"copyMakeBorder {label}", cv2.copyMakeBorder, a, 5, 6, 7, 8, cv2.BORDER_REFLECT_101)
                check(f"rotate {label}", cv2.rotate, a, cv2.ROTATE_90_CLOCKWISE)
                check(f"repeat {label}", cv2.repeat, a, 2, 3)
            if channels > 1:
                check(f"split {label}", cv2.split, a)
                check(f"merge {label}", lambda x, y: cv2.merge([x, y]), a[..., 0].copy(), b[..., 1].copy())
                check(f"extractChannel {label}", cv2.extractChannel, a, 1)
            if depth[-1] != "f":
                for name in ("bitwise_and", "bitwise_or", "bitwise_xor"):
                    check(f"{name} {label}", getattr(cv2, name), a, b)
    table = random.integers(0, 256, (1, 256), dtype=np.uint8)
    check("LUT", cv2.LUT, image("8u", 3), table)
    check("convertScaleAbs", cv2.convertScaleAbs, image("32f", low=-100, high=100), alpha=2, beta=1)
    check("normalize", lambda x: cv2.normalize(x, None, 3, 77, cv2.NORM_MINMAX), image("32f"), relative=1e-4)
    check("inRange", lambda x: cv2.inRange(x, (20, 30, 40), (200, 180, 160)), image("8u", 3))
    for name in ("REDUCE_SUM", "REDUCE_AVG", "REDUCE_MAX", "REDUCE_MIN"):
        for axis in (0, 1):
            check(f"reduce {name} {axis}", lambda x: cv2.reduce(x, axis, getattr(cv2, name), dtype=cv2.CV_32F), image("32f"), relative=1e-4)
    for depth in ("32f", "64f"):
        a, b = image(depth, low=0.1, high=4.0), image(depth, low=0.1, high=4.0)
        for name in ("exp", "log", "sqrt"):
            check(f"{name} {depth}", getattr(cv2, name), a, relative=1e-5)
        check(f"pow {depth}", cv2.pow, a, 2.3, relative=1e-5)
        check(f"magnitude {depth}", cv2.magnitude, a, b)
        check(f"phase {depth}", lambda x, y: cv2.phase(x, y, angleInDegrees=True), a, b, units=0.5)
        check(f"cartToPolar {depth}", cv2.cartToPolar, a, b, relative=1e-3, units=0.01)
        check(f"polarToCart {depth}", cv2.polarToCart, a, b, relative=1e-4, absolute=1e-4)
        m, n = image(depth)[:100, :80].copy(), image(depth)[:80, :90].copy()
        check(f"gemm {depth}", lambda x, y: cv2.gemm(x, y, 1.5, None, 0), m, n, relative=1e-4)
        check(f"mulSpectrums {depth}", lambda x, y: cv2.mulSpectrums(x, y, 0, conjB=True), image(depth, 2), image(depth, 2), absolute=1e-5)
        check(f"dft {depth}", lambda x: cv2.dft(x, flags=cv2.DFT_COMPLEX_OUTPUT), image(depth)[:120, :200].copy(), absolute=1e-5)
        check(f"idft {depth}", lambda x: cv2.idft(x, flags=cv2.DFT_SCALE), image(depth, 2)[:120, :200].copy(), absolute=1e-5)
        check(f"transform {depth}", lambda x: cv2.transform(x, np.arange(9.0).reshape(3, 3)), image(depth, 3), absolute=1e-5)


def filters():
    kernel = np.array([[1, 2, 0], [-1, 3, 1], [0, -2, 1]], np.float32) / 5
    shape = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (5, 5))
    borders = {"101": cv2.BORDER_REFLECT_101, "replicate": cv2.BORDER_REPLICATE}
    for depth in ("8u", "16u", "16s", "32f"):
        for channels in (1, 4) if QUICK else (1, 3, 4):
            a, label = image(depth, channels, smooth=True), f"{depth}C{channels}"
            near = {"units": 1.01 if depth != "32f" else 1e-5}
            for border, kind in borders.items():
                check(f"filter2D {label} {border}", lambda x: cv2.filter2D(x, -1, kernel, borderType=kind), a, **near)
                check(f"GaussianBlur {label} {border}", lambda x: cv2.GaussianBlur(x, (7, 7), 1.3, borderType=kind), a, **near)
                check(f"blur {label} {border}", lambda x: cv2.blur(x, (5, 5), borderType=kind), a, **near)
                check(f"Sobel {label} {border}", lambda x: cv2.Sobel(x, cv2.CV_32F, 1, 0, borderType=kind), a, absolute=1e-5)
            check(f"sepFilter2D {label}", lambda x: cv2.sepFilter2D(x, cv2.CV_32F, np.array([1.0, 2, 1]), np.array([1.0, 0, -1])), a, absolute=1e-5)
            check(f"Laplacian {label}", lambda x: cv2.Laplacian(x, cv2.CV_32F, ksize=3), a, absolute=1e-5)
            check(f"Scharr {label}", lambda x: cv2.Scharr(x, cv2.CV_32F, 0, 1), a, absolute=1e-5)
            check(f"erode {label}", cv2.erode, a, shape)
            check(f"dilate {label}", lambda x: cv2.dilate(x, shape, iterations=2), a)
            check(f"gradient {label}", lambda x: cv2.morphologyEx(x, cv2.MORPH_GRADIENT, shape), a)
    check("medianBlur 3", cv2.medianBlur, image("8u"), 3)
    check("medianBlur 5", cv2.medianBlur, image("8u", 4), 5)
    check("bilateralFilter", cv2.bilateralFilter, image("8u", smooth=True), 7, 30, 5, units=1.01, different=0.01)
    check("Canny", cv2.Canny, image("8u", smooth=True), 60, 120, different=0.01)
    check("equalizeHist", cv2.equalizeHist, image("8u", smooth=True), units=1.01)
    check("calcHist", lambda x: cv2.calcHist([x], [0], None, [256], [0, 256]), image("8u"))
    check("CLAHE", lambda x: cv2.createCLAHE(3.0, (4, 4)).apply(x), image("8u", smooth=True), units=1.01)
    check("integral", cv2.integral, image("8u"))
    check("integral2", cv2.integral2, image("8u"))
    check("adaptive threshold", lambda x: cv2.adaptiveThreshold(x, 200, cv2.ADAPTIVE_THRESH_MEAN_C, cv2.THRESH_BINARY, 7, 2), image("8u", smooth=True), different=0.01)
    check("matchTemplate SQDIFF", cv2.matchTemplate, image("32f"), image("32f")[:20, :20].copy(), cv2.TM_SQDIFF, absolute=1e-4)
    check("matchTemplate CCOEFF_NORMED", cv2.matchTemplate, image("8u"), image("8u")[:9, :9].copy(), cv2.TM_CCOEFF_NORMED, absolute=1e-3)
    check("cornerHarris", lambda x: cv2.cornerHarris(x, 3, 3, 0.04), image("8u", smooth=True), absolute=1e-4)
    check("cornerMinEigenVal", lambda x: cv2.cornerMinEigenVal(x, 3), image("8u", smooth=True), absolute=1e-4)
    check("accumulate", lambda x, y: cv2.accumulateWeighted(x, y, 0.3), image("8u"), image("32f"), relative=1e-4)
    check("pyrDown", cv2.pyrDown, image("8u", 3, smooth=True), units=1.01)
    check("pyrUp", cv2.pyrUp, image("32f", 4, smooth=True), absolute=1e-5)
    check("fastNlMeansDenoising", lambda x: cv2.fastNlMeansDenoising(x, None, 5, 5, 11), image("8u", smooth=True), units=1.01, different=0.01)
    check("fastNlMeansDenoisingColored", lambda x: cv2.fastNlMeansDenoisingColored(x, None, 5, 5, 5, 11), image("8u", 3, smooth=True), units=3.01, different=0.02)


def geometry():
    turn = cv2.getRotationMatrix2D((COLUMNS / 2, ROWS / 2), 33, 0.8)
    warp = np.array([[0.9, 0.1, 3], [-0.05, 1.1, -4], [1e-4, -2e-4, 1]])
    y, x = np.mgrid[:ROWS, :COLUMNS].astype(np.float32)
    map_x, map_y = x + 3 * np.sin(y / 11), y + 3 * np.cos(x / 13)
    interpolations = {"nearest": cv2.INTER_NEAREST, "linear": cv2.INTER_LINEAR, "cubic": cv2.INTER_CUBIC}
    for depth in ("8u", "16u", "32f"):
        for channels in (1, 3, 4):
            a = image(depth, channels, smooth=True)
            for name, kind in interpolations.items():
                label = f"{name} {depth}C{channels}"
                # A pixel's nearest neighbour, and its weights in steps of 1/32, depend on the rounding of coordinates.
                loose = {"absolute": 0.05, "different": 0.02}
                check(f"resize {label}", lambda x: cv2.resize(x, (301, 77), interpolation=kind), a, **loose)
                check(f"warpAffine {label}", lambda x: cv2.warpAffine(x, turn, (200, 150), flags=kind), a, **loose)
                check(f"warpPerspective {label}", lambda x: cv2.warpPerspective(x, warp, (200, 150), flags=kind), a, **loose)
                if name != "cubic":
                    check(f"remap {label}", lambda x: cv2.remap(x, map_x, map_y, kind, borderMode=cv2.BORDER_REFLECT), a, **loose)
            check(f"resize area {depth}C{channels}", lambda x: cv2.resize(x, (79, 41), interpolation=cv2.INTER_AREA), a, absolute=0.01)


def colours():
    codes = [name for name in dir(cv2) if name.startswith("COLOR_")]
    chosen = ["BGR2GRAY", "GRAY2BGR", "BGR2RGB", "BGRA2BGR", "BGR2YCrCb", "YCrCb2BGR", "BGR2YUV", "YUV2BGR", "BGR2XYZ", "XYZ2BGR",
              "BGR2HSV", "HSV2BGR", "BGR2HLS", "HLS2BGR", "BGR2HSV_FULL", "BGR2Lab", "Lab2BGR", "BGR2Luv", "Luv2BGR",
              "BGR2BGR565", "BGR2BGR555", "RGBA2mRGBA", "mRGBA2RGBA", "YUV2BGR_NV12", "YUV2BGR_I420", "BGR2YUV_I420", "YUV2BGR_YUY2"]  # fmt: skip
    for name in chosen:
        if "COLOR_" + name not in codes:
            continue
        for depth in ("8u", "32f"):
            source = name.split("2")[0]
            channels = 4 if source in ("BGRA", "RGBA", "mRGBA") else 1 if source == "GRAY" or name.endswith(("NV12", "R_I420")) else 3
            a = image(depth, channels, smooth=True)
            if name.endswith(("NV12", "I420")):
                a = a[:120, :236].copy()
            if name.endswith("YUY2"):
                a = image("8u", 2)[:120, :236].copy()
            special = name.endswith(("565", "555", "mRGBA", "mRGBA2RGBA", "NV12", "I420", "YUY2")) or name.startswith("mRGBA")
            if depth == "32f" and special:
                continue
            if depth == "32f" and source in ("HSV", "HLS"):
                a = a * np.float32([360, 1, 1])
            if depth == "32f" and source in ("Lab", "Luv"):
                a = (a - np.float32([0, 0.5, 0.5])) * np.float32([100, 60, 60])
            check(f"cvtColor {name} {depth}", cv2.cvtColor, a, getattr(cv2, "COLOR_" + name), units=2.01 if depth == "8u" else 1e-3, different=0.002)


def larger():
    scene = cv2.GaussianBlur(image("8u"), (0, 0), 2.0)
    scene = cv2.normalize(scene, None, 0, 255, cv2.NORM_MINMAX)
    moved = np.roll(scene, (2, 3), (0, 1))
    check("Farneback optical flow", lambda a, b: cv2.calcOpticalFlowFarneback(a, b, None, 0.5, 3, 15, 3, 5, 1.2, 0), scene, moved, absolute=0.02, different=0.02)
    corners = cv2.goodFeaturesToTrack(scene, 40, 0.05, 7)
    check("goodFeaturesToTrack", lambda x: cv2.goodFeaturesToTrack(x, 40, 0.05, 7), scene, absolute=0.01, different=0.1)
    check("Lucas-Kanade optical flow", lambda a, b: cv2.calcOpticalFlowPyrLK(a, b, corners, None)[0], scene, moved, absolute=0.02, different=0.05)
    with case("dense inverse search flow"):
        flow = on_host(cv2.DISOpticalFlow_create().calc(cv2.UMat(scene), cv2.UMat(moved), None))
        middle = np.median(flow[20:-20, 20:-20].reshape(-1, 2), 0)
        assert np.abs(middle - [3, 2]).max() < 0.3, middle
    with case("ORB finds and matches its own points"):
        orb = cv2.ORB_create(200)
        points, descriptors = orb.detectAndCompute(cv2.UMat(scene), None)
        matches = cv2.BFMatcher(cv2.NORM_HAMMING).match(descriptors, descriptors)
        assert len(points) > 50 and all(match.distance == 0 for match in matches), len(points)
    check("FAST", lambda x: len(cv2.FastFeatureDetector_create(10).detect(x)), scene)
    with case("AKAZE"):
        cv2.ocl.setUseOpenCL(False)
        expected = len(cv2.AKAZE_create().detect(scene))
        cv2.ocl.setUseOpenCL(True)
        got = len(cv2.AKAZE_create().detect(cv2.UMat(scene)))
        assert abs(got - expected) <= 0.05 * expected + 1, f"{got} points instead of {expected}"
    for name, create in {"MOG2": cv2.createBackgroundSubtractorMOG2, "KNN": cv2.createBackgroundSubtractorKNN}.items():
        with case(f"background subtractor {name}"):
            masks = []
            for device in (False, True):
                cv2.ocl.setUseOpenCL(device)
                subtractor = create()
                for i in range(6):
                    frame = np.roll(scene, i // 4, 0) if i < 5 else np.maximum(scene, 255 * (np.indices(scene.shape)[1] > 200)).astype(np.uint8)
                    mask = on_host(subtractor.apply(cv2.UMat(frame) if device else frame))
                masks.append(mask)
            equal(masks[1], masks[0], different=0.02)
    check("HOG", lambda x: cv2.HOGDescriptor().compute(x) if isinstance(x, np.ndarray) else cv2.HOGDescriptor().compute(x.get()), scene[:128, :64].copy() if scene.shape[0] >= 128 else cv2.resize(scene, (64, 128)), absolute=0.01)
    check("a network's layers", network, image("32f", 3, smooth=True)[:64, :64].copy(), absolute=1e-3)


def network(picture):
    """A convolution, pooling, normalization, ReLU and a soft maximum, from a Caffe description with fixed weights."""
    text = 'name: "n" input: "data" input_dim: 1 input_dim: 3 input_dim: 64 input_dim: 64\n'
    text += 'layer { name: "pool" type: "Pooling" bottom: "data" top: "pool" pooling_param { pool: MAX kernel_size: 3 stride: 2 } }\n'
    text += 'layer { name: "lrn" type: "LRN" bottom: "pool" top: "lrn" lrn_param { local_size: 5 alpha: 0.1 beta: 0.75 } }\n'
    text += 'layer { name: "ave" type: "Pooling" bottom: "lrn" top: "ave" pooling_param { pool: AVE kernel_size: 2 stride: 2 } }\n'
    text += 'layer { name: "relu" type: "ReLU" bottom: "ave" top: "relu" }\n'
    text += 'layer { name: "soft" type: "Softmax" bottom: "relu" top: "soft" }\n'
    net = cv2.dnn.readNetFromCaffe(np.frombuffer(text.encode(), np.uint8))
    net.setPreferableBackend(cv2.dnn.DNN_BACKEND_OPENCV)
    device = isinstance(picture, cv2.UMat)
    net.setPreferableTarget(cv2.dnn.DNN_TARGET_OPENCL if device else cv2.dnn.DNN_TARGET_CPU)
    net.setInput(cv2.dnn.blobFromImage(picture.get() if device else picture))
    return net.forward()


if cv2.ocl.haveOpenCL():
    cv2.ocl.setUseOpenCL(True)
    print(cv2.ocl.Device.getDefault().name(), cv2.ocl.Device.getDefault().version())
    arithmetic()
    filters()
    geometry()
    colours()
    larger()
else:
    failed("device", "OpenCV sees no OpenCL device")
