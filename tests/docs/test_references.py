"""Every source that code or pages name is in references.bib, and nothing else is."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

import calirare as cr

ROOT = Path(__file__).resolve().parents[2]
KEY = re.compile(r"[Kk]eys?\s+`(\w+)`")
CITATION = re.compile(r"\[@(\w+)\]")


@pytest.fixture(scope="module")
def bibliography() -> dict[str, dict[str, str]]:
    pytest.importorskip("mkdocs")
    spec = importlib.util.spec_from_file_location("docs_hooks", ROOT / "docs" / "hooks.py")
    hooks = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(hooks)
    return hooks.bibliography()


def cited() -> dict[str, str]:
    """The keys in use, each with one place that uses it."""
    found = {method.source: f"method {method.name}" for method in cr.methods().values() if method.source}
    for path in sorted((ROOT / "src").rglob("*.py")):
        found |= {key: path.name for key in KEY.findall(path.read_text(encoding="utf-8"))}
    for path in sorted((ROOT / "docs").rglob("*.md")):
        found |= {key: path.name for key in CITATION.findall(path.read_text(encoding="utf-8"))}
    return found


def test_every_key_in_use_has_an_entry(bibliography):
    assert {key: place for key, place in cited().items() if key not in bibliography} == {}


def test_every_entry_is_in_use(bibliography):
    assert sorted(set(bibliography) - set(cited())) == []


def test_every_entry_is_complete(bibliography):
    text = (ROOT / "docs" / "references.bib").read_text(encoding="utf-8")
    assert len(bibliography) == text.count("\n@") + 1, "an entry is not in the form that the site reads"
    for key, entry in bibliography.items():
        assert entry["author"] and entry["title"], key
        assert entry["year"] == re.search(r"\d{4}", key)[0], key
        assert {"journal", "booktitle", "publisher"} & entry.keys(), key
