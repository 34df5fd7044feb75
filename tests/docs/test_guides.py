"""Errors name pages that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import calirare as cr
from calirare import errors
from calirare.cli import console

ROOT = Path(__file__).resolve().parents[2]
NAMED = re.compile(
    r"\"((?:guides|method|reference)/[\w-]+\.md(?:#[\w-]+)?)\"|See docs: ((?:guides|method)/[\w-]+\.md(?:#[\w-]+)?)"
)


def pages() -> list[str]:
    """Every page that the code names, with its anchor."""
    found: set[str] = set()
    for path in (ROOT / "src").rglob("*.py"):
        found |= {first or second for first, second in NAMED.findall(path.read_text(encoding="utf-8"))}
    return sorted(found)


@pytest.mark.parametrize("page", pages())
def test_the_page_and_its_heading_exist(page):
    name, _, anchor = page.partition("#")
    text = (ROOT / "docs" / name).read_text(encoding="utf-8")
    slugs = [
        re.sub(r"[^\w\s-]", "", heading).strip().lower().replace(" ", "-")
        for heading in re.findall(r"^#+ (.+)$", text, re.M)
    ]
    assert not anchor or anchor in slugs


def test_errors_of_tables_and_labels_name_their_guide():
    with pytest.raises(errors.ColumnError) as caught:
        cr.read_tables({"id": [1, 2], "a": [1, 2]}, {"source": [1], "target": [2]}, label="fraud", rare="yes")
    assert caught.value.__notes__ == ["See docs: guides/tables.md"]
    assert console.describe(caught.value).endswith("See docs: guides/tables.md")
    assert errors.LabelError("none").__notes__ == ["See docs: guides/tables.md#labels"]


def test_an_error_without_a_guide_has_no_note():
    error = errors.InputError("seed must not be negative.")
    assert not hasattr(error, "__notes__")
    assert console.describe(error) == "seed must not be negative."
