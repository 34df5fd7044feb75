"""The OpenAPI document as a page that needs nothing from elsewhere: FastAPI's own loads its scripts from the internet."""

from __future__ import annotations

import json
import re
from html import escape
from typing import Any

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #1b1f24; background: #fff; }
h2 { margin-top: 2.5rem; font-size: 1.1rem; border-top: 1px solid #d0d7de; padding-top: 1rem; }
code, pre { font: 14px/1.45 ui-monospace, monospace; background: #f4f6f8; border-radius: 4px; }
code { padding: .1rem .3rem; } pre { padding: .7rem; overflow-x: auto; white-space: pre-wrap; }
.verb { font-weight: 600; margin-right: .5rem; } table { border-collapse: collapse; } td, th { text-align: left; padding: .2rem .8rem .2rem 0; vertical-align: top; }
@media (prefers-color-scheme: dark) { body { color: #e6edf3; background: #0d1117; } code, pre { background: #161b22; } h2 { border-color: #30363d; } }
"""


def openapi_page(document: dict[str, Any]) -> str:
    """A section for each route: what it does, what it takes, an example."""
    parts = [
        _section(verb, path, said, document)
        for path, verbs in document["paths"].items()
        for verb, said in verbs.items()
    ]
    title = escape(document["info"]["title"])
    return (
        f'<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        f'<meta name="viewport" content="width=device-width"><style>{_STYLE}</style></head><body><main><h1>{title}</h1>'
        f"<p>{escape(document['info'].get('description', ''))} The same for programs: "
        f'<a href="openapi.json">openapi.json</a>.</p>{"".join(parts)}</main></body></html>'
    )


def _section(verb: str, path: str, said: dict[str, Any], document: dict[str, Any]) -> str:
    text = f'<h2><span class="verb">{verb.upper()}</span><code>{escape(path)}</code></h2>'
    text += f"<p>{_worded(said.get('description') or said.get('summary', ''))}</p>"
    rows = [
        (one["name"], one["in"], one.get("description", one.get("schema", {}).get("description", "")))
        for one in said.get("parameters", ())
    ]
    body = said.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
    shape = _resolved(body, document)
    rows += [(name, "body", of.get("description", "")) for name, of in shape.get("properties", {}).items()]
    if rows:
        cells = "".join(
            f"<tr><td><code>{escape(name)}</code></td><td>{escape(where)}</td><td>{escape(words)}</td></tr>"
            for name, where, words in rows
        )
        text += f"<table><thead><tr><th>name</th><th>in</th><th>what</th></tr></thead><tbody>{cells}</tbody></table>"
    text += _answer(said, document)
    for example in shape.get("examples", [])[:1]:
        text += f"<details><summary>Example for this model</summary><pre>{escape(_by_rows(example))}</pre></details>"
    return text


def _worded(text: str) -> str:
    """Markdown's code, the one kind of mark-up in our descriptions.

    >>> _worded("as `a < b` says")
    'as <code>a &lt; b</code> says'
    """
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))


def _by_rows(body: dict[str, Any]) -> str:
    """A body with one line for each row.

    >>> print(_by_rows({"nodes": [{"id": 1}, {"id": 2}], "top": 3}))
    {"nodes": [
      {"id": 1},
      {"id": 2}],
     "top": 3}
    """
    parts = []
    for name, value in body.items():
        rows = value if isinstance(value, list) else None
        said = "[\n  " + ",\n  ".join(map(json.dumps, rows)) + "]" if rows else json.dumps(value)
        parts.append(f"{json.dumps(name)}: {said}")
    return "{" + ",\n ".join(parts) + "}"


def _answer(said: dict[str, Any], document: dict[str, Any]) -> str:
    """What comes back: its fields, those of rows that it holds in brackets, and what is not plain from their names."""
    content = said.get("responses", {}).get("200", {}).get("content", {}).get("application/json", {})
    fields = _resolved(content.get("schema", {}), document).get("properties", {})
    if not fields:
        return ""
    words, told = [], []
    for name, of in fields.items():
        inner = _resolved(of.get("items", {}), document).get("properties", {})
        words.append(f"{name} [{', '.join(inner)}]" if inner else name)
        told += [(key, one["description"]) for key, one in {name: of, **inner}.items() if "description" in one]
    notes = "".join(f"<br><code>{escape(key)}</code> {escape(words)}" for key, words in told)
    return f"<p>Answers with <code>{escape(', '.join(words))}</code>{notes}</p>"


def _resolved(schema: dict[str, Any], document: dict[str, Any]) -> dict[str, Any]:
    name = schema.get("$ref", "").rpartition("/")[2]
    return document.get("components", {}).get("schemas", {}).get(name, schema)
