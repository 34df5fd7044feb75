"""What MkDocs does beyond Markdown: citations from references.bib, tables from the code, and a watch over the network.

In a page, `[@guo2017]` becomes a link to the list of sources; so does "key `guo2017`" in a docstring. The comments
`<!-- bibliography -->`, `<!-- methods -->`, `<!-- commands -->` and `<!-- changelog -->` are replaced by what they name.
"""

from __future__ import annotations

import posixpath
import re
from functools import cache
from pathlib import Path
from typing import Any

from mkdocs.exceptions import PluginError

HERE = Path(__file__).parent
SOURCES = "sources.md"
_ENTRY = re.compile(r"@(\w+)\{(\w+),\n(.*?)\n\}", re.DOTALL)
_FIELD = re.compile(r"^\s*(\w+)\s*=\s*\{(.*)\},?$", re.MULTILINE)
_CITATION = re.compile(r"\[@(\w+)\]")
_DOCSTRING_KEY = re.compile(r"([Kk]ey\s+)<code>(\w+)</code>")
_LOADED = re.compile(
    r"<(?:script|img|iframe)[^>]+src=\"?(?:https?:)?//|<link[^>]+rel=\"?stylesheet[^>]+href=\"?https?://"
)


@cache
def bibliography() -> dict[str, dict[str, str]]:
    """The entries of references.bib by key."""
    text = (HERE / "references.bib").read_text(encoding="utf-8")
    return {key: {"kind": kind, **dict(_FIELD.findall(body))} for kind, key, body in _ENTRY.findall(text)}


def short_name(key: str) -> str:
    """`Guo et al. 2017`; a letter tells apart what would read alike."""
    if key not in bibliography():
        raise PluginError(f"docs/references.bib has no entry {key!r}.")
    alike = [other for other in bibliography() if _names(other) == _names(key)]
    return _names(key) + ("abcdef"[alike.index(key)] if len(alike) > 1 else "")


def _names(key: str) -> str:
    entry = bibliography()[key]
    family = [name.split(",")[0].strip() for name in entry["author"].split(" and ")]
    names = {1: family[0], 2: " and ".join(family)}.get(len(family), f"{family[0]} et al.")
    return f"{names} {entry['year']}"


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    here = posixpath.dirname(page.file.src_uri)
    target = posixpath.relpath(SOURCES, here or ".")
    markdown = _CITATION.sub(lambda found: f"([{short_name(found[1])}]({target}#{found[1]}))", markdown)
    for name, make in MAKERS.items():
        mark = f"<!-- {name} -->"
        if mark in markdown:
            markdown = markdown.replace(mark, make(target))
    return markdown


def on_page_content(html: str, page: Any, config: Any, files: Any) -> str:
    target = files.get_file_from_path(SOURCES).url_relative_to(page.file)
    return _DOCSTRING_KEY.sub(
        lambda found: f'<a href="{target}#{found[2]}" title="{found[2]}">{short_name(found[2])}</a>', html
    )


def on_post_page(output: str, page: Any, config: Any) -> str:
    """The site must work without a network: nothing may be loaded from elsewhere."""
    found = _LOADED.search(output)
    if found:
        raise PluginError(f"{page.file.src_uri} loads something from the network: {found[0]}…")
    return output


def _list_sources(target: str) -> str:
    lines = []
    for key, entry in bibliography().items():
        authors = "; ".join(name.strip() for name in entry["author"].split(" and "))
        title = re.sub(r"[{}]", "", entry["title"])
        where = entry.get("journal") or entry.get("booktitle") or entry["publisher"]
        address = f" doi:{entry['doi']}." if "doi" in entry else ""
        said = " ".join(
            part if part.endswith((".", "?", "!")) else f"{part}." for part in (authors, f"*{title}*", where)
        )
        lines.append(f'<span id="{key}">**{short_name(key)}**</span><br>{said.replace("?*.", "?*")}{address}\n')
    return "\n".join(lines)


def _table_of_methods(target: str) -> str:
    from calirare.estimator.methods import methods

    lines = ["| method | what it does | trains on | calibrates on | source |", "|---|---|---|---|---|"]
    for method in methods().values():
        source = f"[{short_name(method.source)}]({target}#{method.source})" if method.source else "–"
        lines.append(f"| `{method.name}` | {method.summary} | {' | '.join(method.label_budget)} | {source} |")
    return "\n".join(lines)


def _changelog(target: str) -> str:
    """CHANGELOG.md without its heading, which the page has."""
    return (HERE.parent / "CHANGELOG.md").read_text(encoding="utf-8").partition("\n")[2]


def _commands(target: str) -> str:
    """Every command with its arguments, as the program itself describes them."""
    from typer.main import get_command

    from calirare.cli.main import app

    return "\n".join(_describe(f"calirare {name}", command) for name, command in get_command(app).commands.items())


def _describe(name: str, command: Any) -> str:
    if hasattr(command, "commands"):
        return "\n".join(_describe(f"{name} {part}", inner) for part, inner in command.commands.items())
    words = " ".join(p.name.upper() for p in command.params if p.param_type_name == "argument")
    lines = [f"## {name}", "", (command.help or "").strip(), "", "```sh", f"{name} {words}".strip() + " [OPTIONS]"]
    lines += [str(command.epilog).removeprefix("Example: "), "```", "", "| option | meaning |", "|---|---|"]
    for parameter in command.params:
        if parameter.name != "help":
            called = (
                ", ".join((*parameter.opts, *parameter.secondary_opts))
                if parameter.param_type_name == "option"
                else parameter.name.upper()
            )
            text = (getattr(parameter, "help", None) or "").replace("|", "\\|").replace("[", "\\[")
            given = parameter.default
            shown = f" Default: `{given}`." if given not in (None, False, (), []) and not callable(given) else ""
            lines.append(f"| `{called}` | {text}{shown} |")
    return "\n".join([*lines, ""])


MAKERS = {
    "bibliography": _list_sources,
    "methods": _table_of_methods,
    "commands": _commands,
    "changelog": _changelog,
}
