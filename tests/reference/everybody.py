"""What stands in somebody's way on a page: rules of axe-core that it breaks, and pixels beyond the window."""

from __future__ import annotations

import contextlib
from typing import Any

LEFT_OUT = (
    ".ag-root-wrapper",  # AG Grid's own markup; what stands in its cells and around it is ours and is looked at
    ".js-plotly-plot",  # Plotly's toolbar, likewise
)
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]


def violations(page: Any) -> list[Any]:
    """What axe-core finds, shortly."""
    from axe_playwright_python.sync_playwright import Axe

    result = Axe().run(page, context={"exclude": [[one] for one in LEFT_OUT]}, options={"runOnly": RULES})
    return [
        (rule["id"], [(node["target"], node.get("failureSummary", "")[:200]) for node in rule["nodes"][:3]])
        for rule in result.response["violations"]
    ]


def overflow(page: Any) -> int:
    """Pixels by which the page is wider than its window, once figures have taken their width."""
    wider = "document.documentElement.scrollWidth - window.innerWidth"
    with contextlib.suppress(Exception):  # what is still too wide after a while is said below
        page.wait_for_function(f"{wider} <= 0", timeout=5_000)
    return int(page.evaluate(wider))
