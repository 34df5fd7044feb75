"""The notebooks carry no outputs and run from start to end."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

NOTEBOOKS = sorted((Path(__file__).resolve().parents[2] / "examples").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_is_stored_without_outputs(path):
    code = [cell for cell in json.loads(path.read_text())["cells"] if cell["cell_type"] == "code"]
    assert len(code) >= 5 and all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)
    for cell in code:
        compile("".join(cell["source"]), str(path), "exec")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of the kernel and its sockets, which are not ours
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_runs(path, tmp_path):
    import nbformat  # here: with jsonschema's checks it takes seconds to import, in every worker
    from nbclient import NotebookClient

    os.environ.setdefault("MPLBACKEND", "agg")
    notebook = nbformat.read(path, as_version=4)
    NotebookClient(notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": tmp_path}}).execute()
    said = "".join(str(output) for cell in notebook.cells for output in cell.get("outputs", ()))
    assert "Error" not in said and len(said) > 500


def test_there_are_two():
    assert {path.stem for path in NOTEBOOKS} == {"your_tables", "calibrate_a_pyg_model"}
