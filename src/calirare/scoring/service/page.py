"""The OpenAPI document as a page that needs nothing from elsewhere: FastAPI's own loads its scripts from the internet."""

from __future__ import annotations

import json
from html import escape
from typing import Any

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #1b1f24; background: #fff; }
h2 { margin-top: 2.5rem; font-size: 1.1rem; border-top: 1px solid #d0d7de; padding-top: 1rem; }
code, pre { font: 14px/1.45 ui-monospace, monospace; background: #f4f6f8; border-radius: 4px; }
code { padding: .1rem .3rem; } pre { padding: .7rem; overflow-x: auto; }
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
    text += f"<p>{escape(said.get('description') or said.get('summary', ''))}</p>"
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
    for example in shape.get("examples", [])[:1]:
        text += f"<p>For example, with the columns of this model:</p><pre>{escape(json.dumps(example, indent=2))}</pre>"
    return text + _answer(said, document)


def _answer(said: dict[str, Any], document: dict[str, Any]) -> str:
    """What comes back: its fields, or those of the rows that it holds."""
    content = said.get("responses", {}).get("200", {}).get("content", {}).get("application/json", {})
    shape, rows = _resolved(content.get("schema", {}), document), []
    for name, of in shape.get("properties", {}).items():
        inner = _resolved(of.get("items", {}), document).get("properties", {})
        rows.append((name, of.get("description", "one object each:" if inner else "")))
        rows += [(f"… {field}", about.get("description", "")) for field, about in inner.items()]
    if not rows:
        return ""
    cells = "".join(f"<tr><td><code>{escape(name)}</code></td><td>{escape(words)}</td></tr>" for name, words in rows)
    return f"<table><thead><tr><th>answer</th><th>what</th></tr></thead><tbody>{cells}</tbody></table>"


def _resolved(schema: dict[str, Any], document: dict[str, Any]) -> dict[str, Any]:
    name = schema.get("$ref", "").rpartition("/")[2]
    found: dict[str, Any] = document.get("components", {}).get("schemas", {}).get(name, schema)
    return found
