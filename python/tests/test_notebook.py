"""The notebook runs from its first cell to its last, and what it shows is there."""

from pathlib import Path

import nbformat
import pytest
from conftest import ROOT
from nbclient import NotebookClient

import stitch


def test_the_example_runs(library: stitch.Library, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STITCH_LIBRARY", str(library.folder))
    monkeypatch.setenv("JUPYTER_PLATFORM_DIRS", "1")
    notebook = nbformat.read(ROOT / "examples/stitch.ipynb", as_version=4)
    assert not any(cell.get("outputs") for cell in notebook.cells), "commit it without outputs"
    NotebookClient(notebook, timeout=300, resources={"metadata": {"path": tmp_path}}).execute()
    shown = [
        output["data"]["text/html"]
        for cell in notebook.cells
        for output in cell.get("outputs", [])
        if "text/html" in output.get("data", {})
    ]
    assert sum("<table>" in html for html in shown) >= 2
    assert "<video" in shown[-1]
    assert (tmp_path / "vegan-taco.mp4").is_file()
