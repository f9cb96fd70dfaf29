"""Shards as a Lance table."""

import json
import subprocess
from pathlib import Path

import numpy
import pytest

import stitch
from conftest import STEPS, STITCH

lance = pytest.importorskip("lance")
import stitch.lance  # noqa: E402


@pytest.fixture(scope="module")
def shards(world: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("shards")
    subprocess.run([STITCH, "--quiet", "index", world, "--out", folder], check=True, stdout=subprocess.DEVNULL)
    return folder


@pytest.fixture(scope="module")
def table(shards: Path, tmp_path_factory: pytest.TempPathFactory) -> stitch.lance.Table:
    folder = tmp_path_factory.mktemp("table")
    assert stitch.lance.write(shards, folder / "clips.lance", batch=3) > 8
    assert stitch.lance.write(shards, folder / "clips.lance") == 0
    assert not stitch.lance.build_index(folder / "clips.lance")
    return stitch.lance.Table.open(folder / "clips.lance", folder / "cache")


def test_every_clip_is_a_row_with_its_features_and_picture(table, library: stitch.Library) -> None:
    rows = table._data.to_table().to_pylist()
    assert len(rows) == len(table) == sum(video.clips for video in library.videos())
    videos = {str(video.path): video for video in library.videos()}
    for row in rows:
        clip = library.clips(videos[row["path"]])[row["clip"]]
        assert (row["text"], row["start_ms"], row["end_ms"]) == (clip.text, clip.start_ms, clip.end_ms)
        features = library.features(videos[row["path"]])
        assert row["vector"] == [*features.text[row["clip"]], *features.clip[row["clip"]]]
        assert row["thumbnail"][:2] == b"\xff\xd8"
    assert sum(bool(row["narration"]) for row in rows) > len(rows) / 2
    assert len(table._data.get_fragments()) == 3


def test_answers_are_those_of_a_library(table, library: stitch.Library) -> None:
    ours, theirs = table.demonstrate(STEPS).to_dict(), library.demonstrate(STEPS).to_dict()
    assert ours == theirs
    found, wanted = table.search("dice the onion", 5), library.search("dice the onion", 5)
    assert [(clip.path, clip.span, clip.probability) for clip in found] == [
        (clip.path, clip.span, clip.probability) for clip in wanted
    ]


def test_few_clips_name_few_shards(table) -> None:
    rows = table.encode(["Dice the onion"])
    assert 1 <= len(table.shards(rows, clips=1)) <= 3 * len(rows)
    said = table.shards(rows[:0], ["tortillas"])
    assert 1 <= len(said) < 8
    best = table.nearest(rows[0], 3)
    every = {(row["shard"], row["clip"]): row["vector"] for row in table._data.to_table().to_pylist()}
    order = sorted(every, key=lambda clip: -numpy.dot(numpy.float32(every[clip]), rows[0]))
    assert list(zip(best["shard"], best["clip"], strict=True)) == order[:3]


def test_only_new_shards_are_added(shards: Path, tmp_path: Path) -> None:
    one, rest = sorted((shards / "shards").iterdir())[:1], sorted((shards / "shards").iterdir())[1:]
    given = tmp_path / "given"
    (given / "shards" / "unfinished").mkdir(parents=True)
    (given / "shards" / one[0].name).symlink_to(one[0])
    clips = stitch.lance.write(given, tmp_path / "table")
    for shard in rest:
        (given / "shards" / shard.name).symlink_to(shard)
    more = stitch.lance.write(given, tmp_path / "table")
    keys = lance.dataset(tmp_path / "table").to_table(columns=["shard"])["shard"].to_pylist()
    assert clips > 0 and more > 0 and len(keys) == clips + more
    assert set(keys) == {shard.name for shard in (shards / "shards").iterdir()}


def test_what_is_wrong_is_told(table, shards: Path, tmp_path: Path) -> None:
    with pytest.raises(stitch.StitchError, match="there are no shards in"):
        stitch.lance.write(tmp_path, tmp_path / "table")
    with pytest.raises(stitch.StitchError, match="there is no table"):
        stitch.lance.Table.open(tmp_path / "table", tmp_path)
    for change, says in [({"version": 2}, "has format 2"), ({"encoder": "w"}, "was made with another encoder")]:
        given = tmp_path / says.split()[1]
        for shard in (shards / "shards").iterdir():
            (given / "shards" / shard.name).mkdir(parents=True)
            for file in shard.iterdir():
                (given / "shards" / shard.name / file.name).symlink_to(file)
        manifest = sorted((given / "shards").iterdir())[-1] / "manifest.json"
        data = json.loads(manifest.read_text())
        if "version" in change:
            data.update(change)
        else:
            data["shard"]["made"]["encoder"]["weights"] = change["encoder"]
        manifest.unlink()
        manifest.write_text(json.dumps(data))
        with pytest.raises(stitch.StitchError, match=says) as told:
            stitch.lance.write(given, tmp_path / "table")
        assert manifest.parent.name in str(told.value)
    assert not (tmp_path / "table").exists() or not list((tmp_path / "table").glob("_versions/*"))
