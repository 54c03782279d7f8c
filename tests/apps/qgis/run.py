"""QGIS's filters of terrain and its raster calculator, each with OpenCL and without it in one process.

QGIS chooses at each operation by a setting. Only its main program tells the library where the kernels are; its Python module has
no such function, so that it is called in the library. Filters are not compared in the last row, where they differ on all three drivers;
by inference, because the device is given other cells below the raster than the processor is.
"""

import ctypes
import os
import time
from pathlib import Path

import numpy as np
from common import case, equal, spent, version
from osgeo import gdal

os.environ["QT_QPA_PLATFORM"] = "offscreen"

from qgis.analysis import (  # noqa: E402 (the platform is set first)
    QgsAspectFilter, QgsHillshadeFilter, QgsRasterCalculator, QgsRasterCalculatorEntry, QgsRuggednessFilter, QgsSlopeFilter,
)  # fmt: skip
from qgis.core import Qgis, QgsApplication, QgsCoordinateTransformContext, QgsRasterLayer, QgsSettings  # noqa: E402

KERNELS = b"/usr/share/qgis/resources/opencl_programs"
NO_DATA = -9999.0
SIZES = [(3, 3), (17, 5), (64, 64), (301, 203), (1025, 513)]
FILTERS = {
    "slope": QgsSlopeFilter,
    "aspect": QgsAspectFilter,
    "hillshade": lambda *files: QgsHillshadeFilter(*files, 300, 40),
    "hillshade, low sun": lambda *files: QgsHillshadeFilter(*files, 45, 5),
    "ruggedness": QgsRuggednessFilter,
}
EXPRESSIONS = [
    '"a@1" + "b@1" * 3', '"a@1" - "b@1"', '"a@1" / ("b@1" + 200)', '"a@1" ^ 2', 'sqrt(abs("a@1"))', 'sin("a@1") + cos("b@1")',
    'tan("a@1" / 200)', 'asin("a@1" / 200) + acos("b@1" / 200)', 'atan("a@1")', 'ln(abs("a@1") + 1)', 'log10(abs("b@1") + 1)',
    '("a@1" > "b@1") * 2 + ("a@1" <= 0)', '("a@1" >= 10) AND ("b@1" < 5)', '("a@1" = "a@1") OR ("b@1" != 1)',
    'min("a@1", "b@1") - max("a@1", "b@1")', '-"a@1"', '(("a@1" + 1) * ("b@1" - 2) + 3) / ("a@1" ^ 2 + 7)',
]  # fmt: skip


def prepare():
    """Tells the library where its kernels are and starts OpenCL; there has to be a device."""
    qt, core = ctypes.CDLL("libQt5Core.so.5"), ctypes.CDLL(f"libqgis_core.so.{Qgis.QGIS_VERSION.split('-')[0]}")
    text = ctypes.create_string_buffer(ctypes.sizeof(ctypes.c_void_p))
    qt._ZN7QString15fromUtf8_helperEPKci(text, KERNELS, len(KERNELS))
    core._ZN14QgsOpenClUtils13setSourcePathERK7QString(text)
    available = core._ZN14QgsOpenClUtils9availableEv
    available.restype = ctypes.c_bool
    enable(True)
    assert available(), "QGIS finds no device"


def enable(whether):
    QgsSettings().setValue("core/OpenClEnabled", whether)


def write(name, data):
    height, width = data.shape
    raster = gdal.GetDriverByName("GTiff").Create(name, width, height, 1, gdal.GDT_Float32)
    raster.SetGeoTransform((0, 2, 0, 0, 0, -2))
    raster.SetProjection("EPSG:32632")
    raster.GetRasterBand(1).SetNoDataValue(NO_DATA)
    raster.GetRasterBand(1).WriteArray(data)


def terrain(width, height, seed, holes=0.01):
    """Hills with noise; a share of the cells are holes."""
    random = np.random.default_rng(seed)
    y, x = np.mgrid[:height, :width]
    data = 100 * np.sin(x / 20 + seed) * np.cos(y / 15) + random.random((height, width)) * 5
    data[random.random((height, width)) < holes] = NO_DATA
    return data.astype(np.float32)


def both(operation):
    """The rasters that an operation writes without and with OpenCL."""
    results = []
    for opencl in [False, True]:
        enable(opencl)
        name = f"out{int(opencl)}.tif"
        Path(name).unlink(missing_ok=True)
        status = operation(name)
        assert status == 0, f"QGIS ends with {status}"
        results.append(gdal.Open(name).ReadAsArray())
    return results


def derive(kind, raster, out):
    return int(kind(raster, out, "GTiff").processRaster(None))


def calculate(expression, layers, out):
    entries = []
    for name, layer in layers.items():
        entry = QgsRasterCalculatorEntry()
        entry.ref, entry.raster, entry.bandNumber = f"{name}@1", layer, 1
        entries.append(entry)
    first = layers["a"]
    calculator = QgsRasterCalculator(
        expression, out, "GTiff", first.extent(), first.crs(), first.width(), first.height(), entries,
        QgsCoordinateTransformContext(),
    )  # fmt: skip
    return int(calculator.processCalculation())


def main():
    version(Qgis.QGIS_VERSION.split("-")[0])
    QgsApplication.setPrefixPath("/usr", True)
    application = QgsApplication([], False, str(Path("profile").resolve()))
    application.initQgis()
    prepare()
    start = time.monotonic()
    for width, height in SIZES:
        write("a.tif", terrain(width, height, 1))
        write("b.tif", terrain(width, height, 2))
        write("whole.tif", terrain(width, height, 1, holes=0))
        for name, kind in FILTERS.items():
            for raster, note in [("whole.tif", ""), ("a.tif", ", with holes")]:
                with case(f"{name} {width}x{height}{note}"):
                    plain, opencl = both(lambda out, kind=kind, raster=raster: derive(kind, raster, out))
                    equal(opencl[:-1], plain[:-1], relative=1e-4, units=1e-3)
        layers = {name: QgsRasterLayer(f"{name}.tif", name) for name in "ab"}
        for expression in EXPRESSIONS:
            with case(f"{expression} {width}x{height}"):
                plain, opencl = both(lambda out, expression=expression: calculate(expression, layers, out))
                equal(opencl, plain, relative=1e-4, units=1e-3)
    spent("run", time.monotonic() - start)


main()
