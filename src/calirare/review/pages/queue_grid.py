"""The grid of the queue: its columns, and how it asks the server for rows."""

from __future__ import annotations

from typing import Any

import dash_ag_grid
from dash import html

from calirare.review.desk import Desk
from calirare.review.view import HIDDEN_WHEN_BLIND, RECORD

_NUMBER: dict[str, Any] = {"filter": "agNumberColumnFilter", "type": "rightAligned"}
_FILTER_OPTIONS = {"buttons": ["reset"], "maxNumConditions": 2}
_SCORES: list[dict[str, Any]] = [
    {"field": "probability", "headerName": "P(rare)", "cellRenderer": "Probability", "width": 124, "minWidth": 96, **_NUMBER},
    {"field": "lower", "headerName": "Interval", "cellRenderer": "IntervalBar", "width": 150, "minWidth": 140, "filter": "agNumberColumnFilter"},
    {"field": "action", "headerName": "Action", "cellRenderer": "Pill", "width": 98, "minWidth": 84},
    {
        "field": "saves",
        "headerName": "Saves",
        "headerTooltip": "What a review is expected to save",
        "cellRenderer": "Amount",
        "width": 92,
        "minWidth": 84,
        **_NUMBER,
    },
]  # fmt: skip
_REASON = {
    "field": "reason",  # asked for by the rows on screen
    "headerName": "Reason",
    "sortable": False,
    "cellRenderer": "Reason",
    "flex": 3,
    "minWidth": 180,
}


def columns(desk: Desk) -> list[dict[str, Any]]:
    """The grid's columns under the desk's settings."""
    settings, records = desk.setting.settings, desk.station.records.columns
    own = [
        {
            "field": f"{RECORD}{name}",
            "colId": f"{RECORD}{name}",
            "headerName": name,
            "cellRenderer": "Plain",
            "width": min(max(110, 62 + 8 * len(name)), 190),  # its name, and the sign of the filter
            "minWidth": 96,
            "filter": "agNumberColumnFilter" if records[name].is_number else "agTextColumnFilter",
            **({"type": "rightAligned"} if records[name].is_number else {}),
        }
        for name in settings.columns
        if name in records
    ]
    found = [
        {"field": "id", "headerName": "Node", "cellRenderer": "NodeLink", "width": 132, "minWidth": 112},
        *_SCORES,
        *own,
        _REASON,
        {"field": "decision", "headerName": "Decision", "cellRenderer": "DecisionCell", "width": 132},
        {"field": "assigned", "headerName": "For", "cellRenderer": "Plain", "sortable": False, "width": 90},
    ]
    hidden = HIDDEN_WHEN_BLIND if settings.blind else ()
    return [one | {"sortable": False, "filter": False} if one["field"] in hidden else one for one in found]


def grid(desk: Desk) -> Any:
    return html.Div(
        dash_ag_grid.AgGrid(
            id="queue-grid",
            columnDefs=columns(desk),
            defaultColDef={
                "resizable": True,
                "sortable": True,
                "sortingOrder": ["desc", "asc", None],
                "filterParams": _FILTER_OPTIONS,
            },
            rowModelType="infinite",
            getRowId="params.data.id",
            dashGridOptions={
                "cacheBlockSize": 100,
                "maxBlocksInCache": 20,
                "maxConcurrentDatasourceRequests": 4,  # one of them is the one that Dash asks and nobody answers
                "infiniteInitialRowCount": 1,  # until the first rows come
                "localeText": {
                    "noRowsToShow": "No case is left under these filters.",
                    "noMatchingRows": "No case is left under these filters.",
                },
                "rowHeight": 56,
                "headerHeight": 38,
                "enableBrowserTooltips": True,
                "rowSelection": {
                    "mode": "multiRow",
                    "checkboxes": True,
                    "headerCheckbox": False,
                    "enableClickSelection": False,
                },
                "selectionColumnDef": {"width": 42, "resizable": False, "sortable": False},
            },
            className="queue-grid",
            style={"height": "100%", "width": "100%"},
        ),
        className="grid-box",
    )
