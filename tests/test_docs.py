"""The documentation runs: its Python blocks and commands, page by page, and its reference is that of the code."""

import re
from pathlib import Path

import pytest
from bench import pages, reference

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_code_blocks_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "results").symlink_to(ROOT / "results")
    text = page.read_text(encoding="utf-8")
    fresh = pages.executed(text, str(page))
    assert pages.without_times(fresh) == pages.without_times(text), "run `make docs`"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)", page.read_text()):
        assert target.startswith("http") or (page.parent / target).exists(), target


def test_the_reference_is_that_of_the_code():
    assert (ROOT / "docs/api.md").read_text(encoding="utf-8") == reference.text(), "run `make docs`"


def test_every_public_name_is_documented():
    assert list(reference.undocumented()) == []
    found = {item.full for item in reference.names()}
    assert {"ft.task_spectrum", "ft.SSMClassifier", "ft.nn.S4D", "ft.theory.gram", "ft.report.html.save"} <= found


def test_links_within_a_page_lead_to_its_headings():
    for page in PAGES:
        for target, anchor in re.findall(r"\]\(([^)#]*)#([^)]+)\)", page.read_text(encoding="utf-8")):
            text = ((page.parent / target) if target else page).read_text(encoding="utf-8")
            assert anchor in _anchors(text), (page.name, target, anchor)


def _anchors(text: str) -> set[str]:
    """How GitHub names the headings of a page."""
    found: list[str] = []
    for heading in re.findall(r"^#+ (.*)$", text, re.M):
        plain = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        found.append(plain + (f"-{n}" if (n := found.count(plain)) else ""))
    return set(found)


def test_files_named_in_the_map_exist():
    text = (ROOT / "docs/map.md").read_text()
    for name in re.findall(r"`(\w+/\w+\.py)`", text):
        assert (ROOT / "src/foretune" / name).exists(), name
