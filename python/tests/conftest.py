"""A made-up library of eight videos, indexed by the small sentence model of the other tests."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

import stitch

ROOT = Path(__file__).parents[2]
STITCH = os.environ.get("STITCH", str(ROOT / "target/release/stitch"))
STEPS = ["Dice the onion", "Fly to the moon", "Warm the tortillas", "Saw the board", "Water the seedlings"]


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the videos."""
    folder = tmp_path_factory.mktemp("world")
    command = [STITCH, "--quiet", "world", "render", "--out", folder / "videos", "--videos", "8", "--size", "160x90"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return folder / "videos"


@pytest.fixture(scope="session", autouse=True)
def home(tmp_path_factory: pytest.TempPathFactory):
    """All that stitch reads and writes is in a folder of its own."""
    folder = tmp_path_factory.mktemp("home")
    shutil.copytree(ROOT / "crates/engine/tests/data/tiny-mpnet", folder / "models/tiny-mpnet")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STITCH_HOME", str(folder))
        patch.setenv("STITCH_SENTENCE_MODEL", "tiny-mpnet")
        patch.setenv("STITCH_ENCODER", "narration")
        for name in ("STITCH_LIBRARY", "STITCH_LLM_URL", "STITCH_SPEECH"):
            patch.delenv(name, raising=False)
        yield folder


@pytest.fixture(scope="session")
def library(world: Path, tmp_path_factory: pytest.TempPathFactory) -> stitch.Library:
    """Indexed once; tests only read it."""
    library = stitch.Library.create(tmp_path_factory.mktemp("library"))
    report = library.index(world)
    assert (report.found, report.indexed, report.failed) == (8, 8, [])
    return library


@pytest.fixture
def command_line(library: stitch.Library):
    """Runs `stitch --json` on the same library; returns the lines that it prints."""

    def run(*arguments: str | Path) -> list[dict]:
        command = [STITCH, "--json", "--library", library.folder, *arguments]
        printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        return [json.loads(line) for line in printed.splitlines()]

    return run
