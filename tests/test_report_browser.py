"""The page of a report in a real browser: Chromium, driven by playwright."""

import math
import os
import shutil

import pytest

from foretune.report import Chart, Dots, Line, Marks, Matrix, Report, Section, Sheet, Trace, notebook
from foretune.report.html import save

NAMES = ("chromium", "chromium-browser", "google-chrome")
CHROMIUM = os.environ.get("FORETUNE_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason=f"no Chromium is installed as {', '.join(NAMES)}, and FORETUNE_CHROMIUM names none"
)

CELLS = ("93.3 ± 1.2", "–", "+3.1 [-1.2, +9.4]", "-12.5 (n=2)", "1,024.0", "8", "1e-3")
IN_ORDER = ["−12.5 (n=2)", "1e−3", "+3.1 [−1.2, +9.4]", "8", "93.3 ± 1.2", "1,024.0", "–"]
X = tuple(float(k) for k in range(1, 9))


def content() -> Report:
    """One of everything, with text that must not become markup."""
    here, there = (Trace((("data", (name,)),), "accuracy (%)") for name in ("a", "b|&=<b>"))
    lines = (
        Line("default", X, tuple(10 * x for x in X), tuple(9 * x for x in X), tuple(11 * x for x in X), traces=(here,)),
        Line("tdi", X, tuple(81.25 if x == 5 else 20 + x for x in X), traces=(there,)),
    )
    charts = (
        Chart("Curves", "training ratio", "accuracy (%)", lines),
        Dots("Gains", "points", ("one", "two"), (Marks("tdi", (1.25, -2.0), (0.5, -3.0), (2.0, math.nan)),)),
        Matrix("All", ("a", "b"), ("0.01", "1"), ((1.0, -2.0), (math.nan, 0.0)), traces=((here, None), (there, here))),
    )
    table = Sheet("Cells", ("name", "value"), tuple((f"row {i}", cell) for i, cell in enumerate(CELLS)))
    wide = Sheet("Wide", tuple(f"column {i}" for i in range(30)), (tuple("0.123 ± 0.456" for _ in range(30)),))
    runs = tuple(
        (data, seed, f"{value}", "done")
        for data, seed, value in (("a", "1", 50.5), ("b|&=<b>", "1", 60.5), ("a", "2", 51.5), ("b|&=<b>", "2", 61.5))
    )
    sections = (
        Section("First", ("<script>window.broken = 1</script>",), (table,), charts),
        Section("Second", sheets=(wide,), charts=tuple(Chart(n, "x", "y", lines, group="many") for n in "abc")),
    )
    every = Sheet("Every run", ("data", "seed", "accuracy (%)", "status"), runs)
    return Report("A <b>bold</b> title", sections, "It helps by +3.1 [-1.2, +9.4].", every, (("from", "tests"),))


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return save(content(), tmp_path_factory.mktemp("page") / "deeper" / "report.html")


@pytest.fixture(scope="module")
def browser():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        flags = ["--no-sandbox"] if os.geteuid() == 0 else []
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=flags)
        yield started
        started.close()


@pytest.fixture
def visit(browser, path):
    """Opens the page; fails if it says anything on the console, breaks, or asks for anything but itself."""
    trouble, pages = [], []

    def open_page(target=path, **options):
        page = browser.new_page(**options)
        page.on("console", lambda message: trouble.append(message.text))
        page.on("pageerror", lambda error: trouble.append(str(error)))
        page.on("request", lambda request: request.url.startswith(("file:", "data:")) or trouble.append(request.url))
        page.goto(target.as_uri())
        pages.append(page)
        return page

    yield open_page
    for page in pages:
        page.close()
    assert trouble == []


def test_it_renders(visit):
    page = visit()
    assert page.locator("h1").inner_text() == "A <b>bold</b> title"
    assert "+3.1\u00a0[−1.2, +9.4]" in page.locator(".answer").inner_text()
    assert page.evaluate("window.broken") is None
    assert page.locator("svg:visible").count() >= 5
    assert len(page.screenshot()) > 30_000


def test_tables_sort_by_their_numbers_with_mouse_and_keyboard(visit):
    page = visit()
    table = page.locator("table.data").first
    head = table.locator("th").nth(1)

    def column():
        return table.locator("tbody td:nth-child(2)").all_inner_texts()

    before = column()
    head.locator("button").click()
    assert (column(), head.get_attribute("aria-sort")) == (IN_ORDER, "ascending")
    head.locator("button").focus()
    page.keyboard.press("Enter")
    assert head.get_attribute("aria-sort") == "descending"
    assert column() == [*reversed(IN_ORDER[:-1]), "–"]  # what is missing stays last
    page.keyboard.press("Enter")
    assert (column(), head.get_attribute("aria-sort")) == (before, None)


def test_hovering_shows_the_values_and_their_runs(visit):
    page = visit(viewport={"width": 1000, "height": 900})
    picture = page.locator("svg.plot:visible").first
    picture.scroll_into_view_if_needed()
    box, (left, top, width, height) = picture.bounding_box(), map(float, picture.get_attribute("data-box").split(","))
    scale = box["width"] / float(picture.get_attribute("width"))
    page.mouse.move(box["x"] + scale * (left + width * 0.56), box["y"] + scale * (top + height * 0.12))  # near x = 5
    tip = page.locator("#tip").inner_text()
    assert "training ratio 5" in tip
    assert "tdi\n81.25" in tip
    assert "default\n50 [45, 55]" in tip
    assert "2 runs: data b|&=<b>" in tip
    assert "accuracy (%): 60.5 61.5" in tip
    page.keyboard.press("Escape")
    assert page.locator("#tip").is_hidden()


def test_pictures_answer_the_keyboard(visit):
    page = visit()
    page.locator("svg.plot:visible").first.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert "training ratio 2" in page.locator("#tip").inner_text()
    page.locator("svg.forest:visible").focus()
    page.keyboard.press("ArrowDown")
    assert "one, tdi: +1.2 [+0.5, +2.0]" in page.locator("#tip").inner_text()
    page.keyboard.press("Escape")
    assert page.locator("#tip").is_hidden()


def test_a_number_leads_to_its_runs(visit, path):
    page = visit(viewport={"width": 1000, "height": 1600})
    page.locator(".board a").nth(0).hover()
    assert page.locator("#tip").is_visible()
    assert "accuracy (%): 50.5 51.5" in page.locator("#tip").inner_text()
    page.locator(".board a").nth(0).click()
    rows = page.locator("#every-run tbody tr:visible")
    rows.first.wait_for()
    assert rows.all_inner_texts() == ["a\t1\t50.5\tdone", "a\t2\t51.5\tdone"]
    assert page.locator(".filter").inner_text().startswith("2 of 4 runs: data a")
    address = page.url
    page.locator(".filter button").click()
    assert rows.count() == 4
    again = visit()
    again.goto(address)  # the filter is part of the address
    again.locator("#every-run tbody tr:visible").first.wait_for()
    assert again.locator("#every-run tbody tr:visible").count() == 2


def test_a_phone_scrolls_only_downwards(visit):
    page = visit(viewport={"width": 375, "height": 700})
    assert page.evaluate("document.documentElement.scrollWidth") == 375
    assert page.locator(".slim svg:visible").count() == 2
    assert page.locator(".wide svg:visible").count() == 0


def test_dark_and_light(visit):
    colours = {}
    for scheme in ("light", "dark"):
        page = visit(color_scheme=scheme)
        colours[scheme] = page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
    assert colours["light"] != colours["dark"]
    page.locator("#theme").click()
    assert page.evaluate("getComputedStyle(document.documentElement).backgroundColor") == colours["light"]


def test_it_prints(visit, tmp_path):
    page = visit(color_scheme="dark")
    page.pdf(path=tmp_path / "report.pdf", format="A4")
    written = (tmp_path / "report.pdf").read_bytes()
    assert written.startswith(b"%PDF")
    assert len(written) > 10_000
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.body).color") == "rgb(29, 29, 27)"  # dark ink on white paper
    assert page.locator("#theme").is_hidden()


def test_everything_is_read_without_script(browser, path):
    page = browser.new_page(java_script_enabled=False)
    page.goto(path.as_uri())
    assert "93.3 ± 1.2" in page.locator("main").inner_text()
    assert page.locator("svg.plot:visible").count() == 4
    page.close()


@pytest.mark.parametrize("width", [1200, 400])
def test_a_notebook_shows_one_legend(visit, tmp_path, width):
    crowded = tuple(Line(name, X, X, dashed=name == "c") for name in "abcde")  # too close to be named at their ends
    file = tmp_path / "notebook.html"
    file.write_text(f"<!doctype html><meta charset=utf-8><body>{notebook(Chart('', 'x', 'y', crowded))}")
    page = visit(file, viewport={"width": width, "height": 600})
    assert page.locator(".legend:visible").count() == 1
    assert page.locator(".picture svg[viewBox]:visible").count() == 1
