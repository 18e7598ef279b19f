"""The report's pictures and page as text: valid markup for any content, numbers where they belong, nothing from outside."""

import json
import math
import re
import xml.etree.ElementTree as ET
from html.parser import HTMLParser
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import foretune as ft
from foretune.report import Chart, Dots, Line, Marks, Matrix, Report, Section, Sheet, Trace, charts, forest, notebook
from foretune.report.cells import Tracer, board, grid
from foretune.report.html import render, save
from foretune.report.scales import Axis, fixed, number
from foretune.report.svg import Palette, path, spread

ANY = st.floats(width=64)
FINITE = st.floats(allow_nan=False, allow_infinity=False)
WORDS = st.text(max_size=30)


@st.composite
def curves(draw, words=WORDS):
    count = draw(st.integers(0, 6))
    values = [tuple(draw(st.lists(ANY, min_size=count, max_size=count))) for _ in range(4)]
    banded = draw(st.booleans())
    return Line(draw(words), values[0], values[1], *(values[2:] if banded else ()), dashed=draw(st.booleans()))


@settings(max_examples=80, deadline=None)
@given(
    lines=st.lists(curves(), max_size=3), log_x=st.booleans(), log_y=st.booleans(), words=WORDS, labels=st.booleans()
)
def test_any_curves_become_valid_markup_within_the_picture(lines, log_x, log_y, words, labels):
    chart = Chart(words, words, words, tuple(lines), log_x, log_y)
    palette = Palette.of([[line.name for line in lines]])
    root = ET.fromstring(charts.draw(chart, palette, labels=labels).svg)
    assert "nan" not in "".join(element.get("d", "") for element in root.iter())
    for dot in root.iter("circle"):
        assert -1 <= float(dot.get("cx")) <= 341
        assert -1 <= float(dot.get("cy")) <= 221
    assert len(json.loads(charts.data(chart, palette, lambda trace: ""))["lines"]) == len(lines)


@settings(max_examples=100, deadline=None)
@given(
    rows=st.lists(st.tuples(WORDS, ANY, ANY, ANY), max_size=6),
    centre=st.one_of(st.none(), FINITE),
    width=st.sampled_from([350, 760]),
)
def test_any_dots_become_valid_markup(rows, centre, width):
    names, *columns = zip(*rows, strict=True) if rows else ((), (), (), ())
    dots = Dots("t", "x", tuple(names), (Marks("m", *columns), Marks("other", columns[0])), centre)
    root = ET.fromstring(forest.draw(dots, Palette.of([]), lambda trace: "", width))
    shown = [mark for mark in root.iter("g") if mark.get("class", "").startswith("mark")]
    assert len(shown) == 2 * sum(map(math.isfinite, columns[0]))


@settings(max_examples=300, deadline=None)
@given(values=st.lists(FINITE, min_size=1, max_size=5), log=st.booleans(), pad=st.sampled_from([0.0, 0.05]))
def test_an_axis_holds_its_values_and_few_ordered_ticks(values, log, pad):
    axis = Axis.over(values, log=log, pad=pad)
    assert math.isfinite(axis.low)
    assert axis.low < axis.high < math.inf
    for value in values:
        if value >= 1e-290 or not log:
            assert -1e-6 <= axis.at(value) <= 1 + 1e-6
    places = [axis.at(tick) for tick, _ in axis.ticks]
    assert places == sorted(places)
    assert all(-1e-6 <= place <= 1 + 1e-6 for place in places)
    assert len(places) <= 12
    assert len({label for _, label in axis.ticks}) == len(axis.ticks)


def parsed(label):
    """The number that a label stands for."""
    plain = label.translate(str.maketrans("−⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "--0123456789")).replace("\u202f", "")
    mantissa, _, power = plain.partition("×10")
    if plain.startswith("10") and label[2:3] in "⁻⁰¹²³⁴⁵⁶⁷⁸⁹" and len(label) > 2:
        mantissa, power = "1", plain[2:]
    return float(f"{mantissa}e{power or 0}")


@settings(max_examples=200, deadline=None)
@given(values=st.lists(FINITE, min_size=2, max_size=3), log=st.booleans())
def test_ticks_say_where_they_are(values, log):
    for tick, label in Axis.over(values, log=log).ticks:
        assert parsed(label) == pytest.approx(tick, rel=1e-3 if log else 1e-12)


@pytest.mark.parametrize(
    ("value", "words"),
    [(0.0, "0"), (-0.5, "−0.5"), (12345.0, "12\u202f340"), (1.5e-7, "1.5×10⁻⁷"), (-2e9, "−2×10⁹"), (math.nan, "–")],
)
def test_numbers_are_written_as_people_do(value, words):
    assert number(value) == words


def test_columns_keep_their_digits():
    assert [fixed(v, 1, sign=True) for v in (2.0, -0.04, 0.0, -3.25, 1e9)] == ["+2.0", "0.0", "0.0", "−3.2", "+1×10⁹"]


@given(wanted=st.lists(st.floats(0, 100), max_size=9), least=st.floats(1, 20))
def test_labels_are_spread_within_their_limits(wanted, least):
    places = spread(wanted, least, 0.0, 100.0)
    assert (places is None) == (least * (len(wanted) - 1) > 100)
    if places:
        ordered = sorted(places)
        assert all(b - a >= least - 1e-9 for a, b in pairwise(ordered))
        assert ordered[0] >= -1e-9
        assert ordered[-1] <= 100 + 1e-9


def test_gaps_stay_gaps():
    assert path([(0, 0), (1, 1), (math.nan, 0), (3, 3), (4, 4), (5, math.inf), (6, 6)]) == "M0 0L1 1M3 3L4 4M6 6L6 6"


def test_long_lines_keep_their_extremes(rng):
    y = rng.standard_normal(30_000)
    y[[777, 20_001]] = 50.0, -50.0
    y[100] = np.nan
    line = charts.thinned(Line("long", tuple(map(float, range(30_000))), tuple(y)))
    assert len(line.x) < 2500
    assert (max(line.y), min(line.y)) == (50.0, -50.0)
    assert sum(map(math.isnan, line.y)) == 1
    assert all(y[int(x)] == value or math.isnan(value) for x, value in zip(line.x, line.y, strict=True))


def test_points_lie_where_their_values_say():
    chart = Chart("", "x", "y", (Line("a", (0.0, 5.0, 10.0), (1.0, 2.0, 5.0)),))
    root = ET.fromstring(charts.draw(chart, Palette.of([["a"]]), labels=False).svg)
    (x0, y0), (x1, y1), (x2, y2) = ((float(c.get("cx")), float(c.get("cy"))) for c in root.iter("circle"))
    assert x1 - x0 == pytest.approx(x2 - x1, abs=0.11)
    assert (y1 - y2) == pytest.approx(3 * (y0 - y1), abs=0.3)


def test_names_keep_their_colours_and_never_share_one_within_a_picture():
    palette = Palette.of([["a", "b"], ["c", "a"], [f"n{i}" for i in range(8)], ["n0", "a", "z"]])
    styles = [palette.style(f"n{i}") for i in range(8)]
    assert len(set(styles)) == 8
    assert len({palette.style(name) for name in "abc"}) == 3
    assert palette.style("z") not in {palette.style("n0"), palette.style("a")}


class Outline(HTMLParser):
    """Every tag with its attributes, and the text."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.words = [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.words.append(data)


HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(1)>&\"'"


def test_no_content_becomes_markup(tmp_path):
    line = Line(HOSTILE, (1.0, 2.0), (1.0, 2.0), traces=(Trace(((HOSTILE, (HOSTILE,)),)),))
    section = Section(
        HOSTILE,
        (HOSTILE,),
        (Sheet(HOSTILE, (HOSTILE,), ((HOSTILE,),)),),
        (
            Chart(HOSTILE, HOSTILE, HOSTILE, (line,)),
            Chart(HOSTILE, HOSTILE, HOSTILE, (line,), group=HOSTILE),
            Dots(HOSTILE, HOSTILE, (HOSTILE,), (Marks(HOSTILE, (1.0,), traces=line.traces),)),
            Matrix(HOSTILE, (HOSTILE,), (HOSTILE,), ((1.0,),), HOSTILE, HOSTILE, HOSTILE, traces=(line.traces,)),
        ),
    )
    runs = Sheet(HOSTILE, (HOSTILE,), ((HOSTILE,),))
    report = Report(HOSTILE, (section,) * 4, HOSTILE, runs, ((HOSTILE, HOSTILE),))
    text = save(report, tmp_path / "a" / "b.html").read_text(encoding="utf-8")
    page = Outline(text)
    assert not [tag for tag, attributes in page.tags if tag == "img" or "onerror" in attributes]
    assert [a.get("type") for tag, a in page.tags if tag == "script"] == ["application/json"] * 8 + [None]
    assert not [tag for tag, _ in Outline(notebook(report)).tags if tag in ("img",)]


def test_a_page_asks_for_nothing():
    text = render(Report("t", (Section("s", charts=(Chart("c", "x", "y", (Line("l", (1.0,), (1.0,)),)),)),)))
    for _, attributes in Outline(text).tags:
        for name in ("src", "href", "action", "srcset"):
            assert attributes.get(name, "#").startswith(("#", "data:,"))
    assert not re.search(r"url\(|@import", text)
    assert "default-src 'none'" in text
    assert render(Report("", ())) == render(Report("", ()))


def test_fragments_need_no_script_and_style_only_themselves():
    text = notebook(Sheet("t", ("a",), (("1",),)))
    page = Outline(text)
    assert not [tag for tag, _ in page.tags if tag in ("script", "html", "body")]
    rules = re.findall(r"([^{}]+)\{", re.search(r"<style>(.*?)</style>", text, re.S)[1])
    for selector in (part for rule in rules if not rule.strip().startswith("@") for part in rule.split(",")):
        assert re.search(r"\.ft\b", selector), selector


def test_numbers_and_words_are_told_apart():
    rows = (("S4D", "93.3 ± 1.2", "1a2b"), ("2 layers", "–", "77"), ("", "+3.1 [-1.2, +9.4]", ""))
    view = grid(Sheet("t", ("model", "gain", "key"), rows, totals=1, quiet=("gain",)), Tracer(None))
    assert [column.style for column in view.columns] == ["", "n quiet", ""]
    assert (view.rows[0][1].text, view.rows[0][1].rest) == ("93.3", " ± 1.2")
    assert (view.totals[0][1].text, view.totals[0][1].rest) == ("+3.1", " [−1.2, +9.4]")
    assert not view.folded


def test_tables_of_unequal_rows_and_traces_to_nowhere_are_named():
    with pytest.raises(ft.InputError, match="'t' has 2 columns"):
        grid(Sheet("t", ("a", "b"), (("1",),)), Tracer(None))
    with pytest.raises(ft.InputError, match="names the column 'arm'; the table of runs has seed"):
        Tracer(Sheet("runs", ("seed",), ())).query(Trace((("arm", ("x",)),)))


def test_the_strongest_colour_belongs_to_the_largest_change():
    view = board(Matrix("t", ("a",), tuple("1234"), ((8.0, -2.0, 0.0, math.nan),)), Tracer(None))
    assert [(cell.text, cell.style) for cell in view.rows[0][1]] == [
        ("+8.0", "g5"),
        ("−2.0", "l3"),
        ("0.0", ""),
        ("", ""),
    ]


def test_spectra_and_records_show_themselves_in_notebooks():
    power = np.exp(-(((np.arange(65) - 20) / 2.0) ** 2))
    spectrum = ft.Spectrum(power, 128)
    _, record = ft.tune(ft.DiagonalSSM.s4d_lin(heads=2, state=8, seed=0), spectrum)
    shown = [spectrum, ft.Spectrum(np.stack([power, 2 * power]), 128), ft.Spectrum(np.zeros(1), 1), record]
    texts = [each._repr_html_() for each in shown]
    assert all(text.lstrip().startswith("<div class=") for text in texts)
    assert "mean of 2 heads" in texts[1]
    assert "0.1562" in texts[3]  # 20 of 128 steps
    assert "6.4" in texts[3]
