"""Every picture and every table of measurements names the command that makes it, and the screenshots can be made again."""

from __future__ import annotations

import re
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
PICTURE = re.compile(r"!\[[^\]]*\]\(([^)]+)\)")
COMMAND = re.compile(r"(?:`|^|\n)(?:python|calirare|make)\s+[a-z]")
MEASURED = re.compile(r"\d\.\d{2,}")  # two decimals or more: nobody writes these by hand
WHOLE = {"results.md": "calirare benchmark", "leaderboard.md": "calirare leaderboard"}
"""Pages that the command at their head makes whole."""
SHOTS = ("report", "review-case", "review-model", "review-queue")


def paragraphs(page: Path) -> list[str]:
    return re.split(r"\n\s*\n", page.read_text(encoding="utf-8"))


def pictures() -> list[tuple[Path, int, str]]:
    """(page, place of the paragraph, file) of each picture."""
    return [
        (page, place, name)
        for page in PAGES
        for place, words in enumerate(paragraphs(page))
        for name in PICTURE.findall(words)
    ]


def tables() -> list[tuple[Path, int]]:
    """(page, place of the paragraph) of each table that holds measurements."""
    return [
        (page, place)
        for page in PAGES
        for place, words in enumerate(paragraphs(page))
        if words.startswith("|") and len(MEASURED.findall(words)) > 5
    ]


def beside_a_picture(words: list[str], place: int) -> list[str]:
    after = place + 1
    while after < len(words) - 1 and PICTURE.match(words[after]):  # pictures in a row share the words below them
        after += 1
    return words[max(place - 2, 0) : place] + words[place : after + 1]


def in_the_section(words: list[str], place: int) -> list[str]:
    start = max((i for i in range(place) if words[i].startswith("#")), default=0)
    end = next((i for i in range(place + 1, len(words)) if words[i].startswith("#")), len(words))
    return words[start:end]


def names_its_command(page: Path, place: int, near: Callable[[list[str], int], list[str]]) -> bool:
    words = paragraphs(page)
    if page.name in WHOLE:
        return WHOLE[page.name] in "\n".join(words[:4])
    return any(COMMAND.search(part) for part in near(words, place))


def test_every_picture_exists_and_has_its_command_beside_it():
    assert [f"{page.name}: {name}" for page, _, name in pictures() if not (page.parent / name).is_file()] == []
    found = [(page.name, name) for page, at, name in pictures() if not names_its_command(page, at, beside_a_picture)]
    assert found == []


def test_every_table_of_measurements_has_its_command_in_the_section():
    found = [
        (page.name, paragraphs(page)[at]) for page, at in tables() if not names_its_command(page, at, in_the_section)
    ]
    assert found == []


def test_the_checks_see_pictures_and_tables():
    assert len(pictures()) > 15
    assert len(tables()) > 20


@pytest.mark.slow
@pytest.mark.browser
def test_the_screenshots_are_made(tmp_path, browser_path):
    from PIL import Image

    words = ["--out", str(tmp_path), "--nodes", "600", "--detector", "linear", "--cases", "5"]
    made = subprocess.run(
        [sys.executable, ROOT / "docs" / "screenshots.py", *words], capture_output=True, text=True, timeout=300
    )
    assert made.returncode == 0, made.stderr
    assert sorted(path.stem for path in tmp_path.glob("*.png")) == sorted(SHOTS)
    for name in SHOTS:
        kept = (ROOT / "docs" / "images" / f"{name}.png").read_bytes()
        with Image.open(tmp_path / f"{name}.png") as picture:
            assert picture.size == struct.unpack(">II", kept[16:24])
            assert len(picture.getcolors(maxcolors=1 << 24)) > 100, "a blank page"
