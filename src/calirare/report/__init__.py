"""One self-contained HTML file that says what was fitted, how far to trust it, and what it decides.

It opens offline: the styles, the figures' numbers and plotly's script are inside. `write_report` writes it,
`gather` gives what stands in it as plain data.
"""

from calirare.report.contents import Contents, gather
from calirare.report.page import write_report

__all__ = ["Contents", "gather", "write_report"]
