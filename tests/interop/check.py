"""Opens exports with third-party readers and compares the ranges with demo.json.

    python3 -m venv /tmp/venv && /tmp/venv/bin/pip install opentimelineio pycmx
    /tmp/venv/bin/python tests/interop/check.py FOLDER/demo

reads FOLDER/demo.json, demo.otio and demo.edl, and fails if they disagree.
"""

import json
import pathlib
import sys
import urllib.parse

import opentimelineio as otio
import pycmx


def check_otio(path, chosen, steps):
    timeline = otio.adapters.read_from_file(str(path))
    for track in timeline.tracks:
        track.range_of_child_at_index(0)  # fails if ranges cannot be computed
    items = [i for i in timeline.video_tracks()[0] if not isinstance(i, otio.schema.Transition)]
    clips = [i for i in items if isinstance(i, otio.schema.Clip)]
    assert len(clips) == len(chosen), (len(clips), len(chosen))
    for clip, choice in zip(clips, chosen):
        rate = clip.source_range.start_time.rate
        start = clip.source_range.start_time.to_seconds()
        assert abs(start - choice["cut"]["start_ms"] / 1000) <= 0.51 / rate, clip.name
        seconds = (choice["cut"]["end_ms"] - choice["cut"]["start_ms"]) / 1000 / choice["speed"]
        length = clip.source_range.duration.to_seconds()
        assert length <= seconds + 1 / rate and length > 0, (clip.name, length, seconds)
        url = urllib.parse.urlparse(clip.media_reference.target_url)
        assert urllib.parse.unquote(url.path) == choice["source"]["path"], url
        assert clip.markers, clip.name
    texts = [marker.name.split(". ", 1)[1] for item in items for marker in item.markers]
    assert texts == steps, texts
    lengths = [track.duration().to_seconds() for track in timeline.tracks]
    assert max(lengths) - min(lengths) < 0.05 * len(items), lengths
    return lengths[0]


def check_edl(path, chosen):
    with open(path, encoding="utf-8") as file:
        events = list(pycmx.parse_cmx3600(file).events)
    edits = [event.edits[-1] for event in events]
    shown = [edit for edit in edits if edit.source != "BL"]
    assert len(shown) == len(chosen), (len(shown), len(chosen))
    for edit, choice in zip(shown, chosen):
        assert edit.clip_name == pathlib.Path(choice["source"]["path"]).name, edit.clip_name
    for before, after in zip(edits, edits[1:]):
        assert before.record_out == after.record_in, (before.record_out, after.record_in)
    return edits[-1].record_out


def main():
    stem = sys.argv[1]
    demonstration = json.loads(pathlib.Path(stem + ".json").read_text(encoding="utf-8"))
    steps = [step["text"] for step in demonstration["steps"]]
    chosen = [step["chosen"] for step in demonstration["steps"] if step["chosen"]]
    length = check_otio(stem + ".otio", chosen, steps)
    end = check_edl(stem + ".edl", chosen)
    print(f"{len(chosen)} clips; OTIO {length:.2f} s; EDL ends at {end}")


main()
