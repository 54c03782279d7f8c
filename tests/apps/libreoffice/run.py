"""Calculates columns of formulas with LibreOffice's OpenCL kernels and with its interpreter, and compares the values."""

import csv
import html
import os
import random
import re
import shutil
import time
from pathlib import Path

from common import QUICK, case, ended, run, spent, version

ROWS = 600
# Ranges are of 21 rows from the formula's own on. `@` is its row, `@@` the last one of its range.
FORMULAS = [
    "A@*B@+C@", "SIN(A@)+COS(B@)*EXP(C@/10)", "SUM(A@:A@@)", "AVERAGE(A@:C@@)", "MIN(A@:A@@)+MAX(B@:B@@)",
    "SUMPRODUCT(A@:A@@;B@:B@@)", "IF(A@>5;B@;C@)", "SQRT(ABS(A@))/(1+B@^2)", "STDEV(A@:A@@)", "VAR(B@:B@@)",
    "PMT(A@/100+0.01;12;1000)", "FV(0.01+A@/1000;10;100;1000)", "NPV(0.05;A@;B@;C@)", "ROUND(A@*100;1)",
    "MOD(INT(A@*100);7)", "NORMDIST(A@;5;2;1)", "NORMSINV(A@/11+0.01)", "GAMMALN(A@+1)", "BETADIST(A@/11+0.01;2;3)",
    "CORREL(A@:A@@;B@:B@@)", "SLOPE(A@:A@@;B@:B@@)", 'COUNTIF(A@:A@@;">5")', 'SUMIFS(A@:A@@;B@:B@@;">5")',
    "CHIDIST(A@+0.1;4)", "TDIST(A@+0.1;5;2)", "FDIST(A@+0.1;3;4)", "POISSON(INT(A@);3;1)", "LN(A@+1)*LOG10(B@+1)",
    "ATAN2(A@;B@)", "FACT(INT(A@))", "COMBIN(12;INT(A@))", "XNPV(0.1;A@:A@@;D@:D@@)", "MEDIAN(A@:A@@)", "KURT(A@:A@@)",
    "GEOMEAN(A@:A@@)", "BITAND(INT(A@*10);INT(B@*10))", "VLOOKUP(INT(A@);$E$1:$F$11;2;0)", "LOGNORMDIST(A@+0.1;1;2)",
    "WEIBULL(A@;2;3;1)", "EXPONDIST(A@;0.5;1)", "HYPGEOMDIST(2;4;5;12)+A@", "CONFIDENCE(0.05;B@+1;50)",
    "SLN(1000+A@;10;5)", "SYD(1000+A@;10;5;2)", "DB(1000+A@;10;5;2)", "DDB(1000+A@;10;5;2)", "RATE(10;-100-A@;700)",
    "IRR(C@:C@@)", "CORREL(A@:A@@;B@:B@@)+SLOPE(A@:A@@;B@:B@@)",
]  # fmt: skip
SHORT = FORMULAS[:9]
FIRST = 6  # The column of the first formula: before it are numbers, dates and a table.
LIMIT = 500
SPACES = "".join(
    f' xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"' for name in ["office", "table", "text"]
) + ' xmlns:of="urn:oasis:names:tc:opendocument:xmlns:of:1.2"'
# LibreOffice takes the platforms of three vendors only, unless a setting names others.
SETTINGS = """<?xml version="1.0" encoding="UTF-8"?>
<oor:items xmlns:oor="http://openoffice.org/2001/registry">
<item oor:path="/org.openoffice.Office.Common/Misc"><prop oor:name="OpenCLAllowList" oor:op="fuse"><value><it>//.*//</it></value></prop></item>
</oor:items>
"""


def cell(content):
    if isinstance(content, str):
        return f'<table:table-cell table:formula="{html.escape(content)}"/>'
    return "<table:table-cell/>" if content is None else f'<table:table-cell office:value-type="float" office:value="{content}"/>'


def written(formula, row):
    """A formula of a row as documents have it."""
    text = formula.replace("@@", str(row + 20)).replace("@", str(row))
    place = r"\$?[A-Z]\$?\d+\b(?!\()"
    return "of:=" + re.sub(f"({place})(:{place})?", lambda found: "[." + found[1] + (f":.{found[2][1:]}" if found[2] else "") + "]", text)


def document(path, formulas):
    numbers = random.Random(4)
    rows = []
    for row in range(1, ROWS + 1):
        cells = [round(numbers.uniform(0, 10), 3), round(numbers.uniform(0, 10), 3), round(numbers.uniform(-5, 5), 3), 40000 + row]
        cells += [row - 1, (row - 1) ** 2] if row <= 11 else [None, None]
        cells += [written(formula, row) for formula in formulas]
        rows.append("<table:table-row>" + "".join(map(cell, cells)) + "</table:table-row>")
    path.write_text(
        f'<?xml version="1.0" encoding="UTF-8"?><office:document{SPACES} office:version="1.2" '
        'office:mimetype="application/vnd.oasis.opendocument.spreadsheet"><office:body><office:spreadsheet>'
        f'<table:table table:name="s">{"".join(rows)}</table:table></office:spreadsheet></office:body></office:document>'
    )


def calculated(formulas, way):
    """The columns of formulas as text, calculated by `core` (the interpreter) or `opencl`."""
    source, out, profile = Path("columns.fods"), Path(f"out-{way}"), Path(f"profile-{way}").resolve()
    for directory in [out, profile]:
        shutil.rmtree(directory, ignore_errors=True)
    (profile / "user").mkdir(parents=True)
    (profile / "user/registrymodifications.xcu").write_text(SETTINGS)
    document(source, formulas)
    # Without the second variable, LibreOffice calculates on the device only if a measurement at start is in its favour.
    environment = {**os.environ, "SC_FORCE_CALCULATION": way, "SC_OPENCL_DEVICE_OVERRIDE": "0", "HOME": str(profile)}
    form = "csv:Text - txt - csv (StarCalc):44,34,76,1,,0,false,false"
    command = ["soffice", f"-env:UserInstallation=file://{profile}", "--headless", "--convert-to", form, "--outdir", out, source]
    status, output = run(command, LIMIT, env=environment)
    file = out / "columns.csv"
    if not file.exists():
        raise AssertionError(f"{ended(status, LIMIT)} {output[-300:]}")
    if way == "opencl":
        assert "Selected: true" in (profile / "cache/opencl_devices.log").read_text(), "LibreOffice did not use the device"
    return list(zip(*[line[FIRST:] for line in csv.reader(file.open())]))


def value(text):
    try:
        return float(text.replace("$", "").replace(",", ""))
    except ValueError:
        return "an error" if text.startswith("#") else text


def same(one, other):
    if isinstance(one, float) and isinstance(other, float):
        return abs(one - other) <= 1e-6 * max(1.0, abs(one))
    return one == other


def main():
    version(re.search(r"\d+(\.\d+)+", run(["soffice", "--version"])[1])[0])
    formulas = SHORT if QUICK else FORMULAS
    expected = calculated(formulas, "core")
    start = time.monotonic()
    try:
        together = calculated(formulas, "opencl")
    except AssertionError as error:
        print(f"each formula alone, because of all: {error}", flush=True)
        together = None
    for index, formula in enumerate(formulas):
        with case(formula):
            got = together[index] if together else calculated([formula], "opencl")[0]
            wrong = [(row, a, b) for row, (a, b) in enumerate(zip(expected[index], got), 1) if not same(value(a), value(b))]
            assert not wrong, f"{len(wrong)} of {ROWS} values differ; in row {wrong[0][0]}: {wrong[0][2]} instead of {wrong[0][1]}"
    spent("run", time.monotonic() - start)


main()
