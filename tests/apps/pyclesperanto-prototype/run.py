"""Operations of CLIJ's kernels beside SciPy's and scikit-image's."""

import numpy as np
import pyclesperanto_prototype as cle
import scipy.ndimage as ndi
from skimage import data, filters, measure, segmentation

from common import QUICK, case, equal, package_version

package_version("pyclesperanto-prototype")
print(cle.get_device())
random = np.random.default_rng(4)
flat = ndi.gaussian_filter(random.random((120, 170)).astype(np.float32), 2) * 100
solid = ndi.gaussian_filter(random.random((24, 40, 56)).astype(np.float32), 1.5) * 100
middle = (slice(8, -8),)


def check(name, function, reference, images=(flat, solid), inside=False, **tolerance):
    for image in images:
        with case(f"{name} {image.ndim}d"):
            got, expected = np.asarray(function(cle.push(image))), np.asarray(reference(image))
            if inside:
                got, expected = got[middle * image.ndim], expected[middle * image.ndim]
            equal(got, expected, **tolerance)


def cube(image, size):
    return np.ones((size,) * image.ndim)


def same_labels(got, expected):
    """The same regions, whatever their numbers."""
    pairs = {(int(a), int(b)) for a, b in zip(np.ravel(got), np.ravel(expected))}
    assert len(pairs) == len({a for a, _ in pairs}) == len({b for _, b in pairs}), f"{len(pairs)} pairs of labels"


check("gaussian blur", lambda x: cle.gaussian_blur(x, sigma_x=2, sigma_y=2, sigma_z=2), lambda x: ndi.gaussian_filter(x, 2), inside=True, relative=1e-3)
check("mean box", lambda x: cle.mean_box(x, radius_x=2, radius_y=2, radius_z=2), lambda x: ndi.uniform_filter(x, 5), inside=True, relative=1e-3)
check("minimum box", lambda x: cle.minimum_box(x, radius_x=2, radius_y=2, radius_z=2), lambda x: ndi.minimum_filter(x, 5), inside=True)
check("maximum box", lambda x: cle.maximum_box(x, radius_x=2, radius_y=2, radius_z=2), lambda x: ndi.maximum_filter(x, 5), inside=True)
check("median box", lambda x: cle.median_box(x, radius_x=1, radius_y=1, radius_z=1), lambda x: ndi.median_filter(x, 3), inside=True)
check("sobel", cle.sobel, lambda x: np.sqrt(sum(ndi.sobel(x, a) ** 2 for a in range(x.ndim))), inside=True, relative=1e-2, absolute=1e-3)
check("laplace", cle.laplace_diamond, lambda x: -ndi.laplace(x), inside=True, relative=1e-2, absolute=1e-4)
check("sum of pixels", lambda x: np.array(cle.sum_of_all_pixels(x)), lambda x: x.sum(dtype=float), relative=1e-4)
check("maximum of pixels", lambda x: np.array(cle.maximum_of_all_pixels(x)), np.max)
check("projection", cle.maximum_z_projection, lambda x: x.max(0), images=(solid,))
check("mean projection", cle.mean_z_projection, lambda x: x.mean(0), images=(solid,), relative=1e-4)
check("standard deviation projection", cle.standard_deviation_z_projection, lambda x: x.std(0, ddof=1), images=(solid,), relative=1e-3)
check("transposition", cle.transpose_xy, lambda x: np.swapaxes(x, -1, -2))
check("sum of images", lambda x: cle.add_images_weighted(x, x, factor1=2, factor2=0.5), lambda x: 2.5 * x, relative=1e-5)
check("power", lambda x: cle.power(x, exponent=1.7), lambda x: x**1.7, relative=1e-4)
check("logarithm", cle.logarithm, np.log, relative=1e-5)
check("threshold of Otsu", cle.threshold_otsu, lambda x: x > filters.threshold_otsu(x), different=0.02)
check("dilation", lambda x: cle.dilate_box(cle.greater_constant(x, constant=51)), lambda x: ndi.binary_dilation(x > 51, cube(x, 3)))
check("erosion", lambda x: cle.erode_box(cle.greater_constant(x, constant=49)), lambda x: ndi.binary_erosion(x > 49, cube(x, 3)), inside=True)
check("matrix product", lambda x: cle.multiply_matrix(x, cle.transpose_xy(x)), lambda x: x @ x.T, images=(flat,), relative=1e-3)
check("top hat", lambda x: cle.top_hat_box(x, radius_x=3, radius_y=3, radius_z=3), lambda x: ndi.white_tophat(x, 7), inside=True, relative=1e-3, absolute=1e-5)
check("resampling", lambda x: cle.scale(x, factor_x=2, factor_y=2, centered=False, auto_size=True), lambda x: np.repeat(np.repeat(x, 2, 0), 2, 1), images=(flat,), different=0.02)
for image in (flat, solid):
    spots = (image > 51).astype(np.float32)
    labels, count = ndi.label(spots, cube(image, 3))
    with case(f"labels of connected components {image.ndim}d"):
        same_labels(np.asarray(cle.connected_components_labeling_box(cle.push(spots))), labels)
    with case(f"statistics of labels {image.ndim}d"):
        got = cle.statistics_of_labelled_pixels(cle.push(image), cle.push(labels))
        expected = [one.mean_intensity for one in measure.regionprops(labels, image)]
        equal(got["mean_intensity"], expected, relative=1e-3)
        equal(got["area"], np.bincount(labels.ravel())[1:])
    with case(f"labels at edges {image.ndim}d"):
        same_labels(np.asarray(cle.exclude_labels_on_edges(cle.push(labels))), segmentation.clear_border(labels))
    with case(f"Voronoi regions {image.ndim}d"):
        got = np.asarray(cle.voronoi_labeling(cle.push(spots)))
        assert len(np.unique(got)) >= count
if not QUICK:
    coins = data.coins().astype(np.float32)
    with case("Voronoi-Otsu labels of coins"):
        got = np.asarray(cle.voronoi_otsu_labeling(cle.push(coins), spot_sigma=5, outline_sigma=1))
        assert 20 <= got.max() <= 60, got.max()
