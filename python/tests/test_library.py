"""Indexing, searching and features."""

import json
import os
import signal
import struct
import sys
import threading
from pathlib import Path

import numpy
import pytest

import stitch


def test_videos_and_their_clips(library: stitch.Library, world: Path) -> None:
    videos = library.videos()
    assert {video.path for video in videos} == set(world.glob("*.mp4"))
    assert {video.status for video in videos} == {"ready"}
    for video in videos:
        clips = library.clips(video)
        assert len(clips) == video.clips > 0
        assert all(0 <= clip.start_ms < clip.end_ms <= video.length_ms and clip.text for clip in clips)
    assert library.encoder == "narration"
    assert stitch.Library.open(library.folder).videos() == videos


def test_search_finds_the_clip_with_these_words(library: stitch.Library) -> None:
    video = library.videos()[0]
    clip = library.clips(video)[0]
    found = library.search(clip.text, 5)
    assert (found[0].video, found[0].text) == (video.id, clip.text)
    assert len(found) == 5
    assert found == sorted(found, key=lambda found: -found.probability)


def test_features_are_views_of_the_file(library: stitch.Library) -> None:
    video = library.videos()[0]
    raw = dict(library._native.features(video.id))
    for name, matrix in raw.items():
        view = numpy.asarray(matrix)
        assert view.dtype == numpy.float16 and not view.flags.writeable and not view.flags.owndata
        assert numpy.shares_memory(view, numpy.asarray(matrix))
        assert numpy.array_equal(view, stored(library, name)), name
    features = library.features(video)
    assert len(features.clip) == len(features.text) == video.clips
    assert features.appearance is not None and len(features.appearance) == 3 * video.clips
    lengths = numpy.linalg.norm(features.text.astype(numpy.float32), axis=1)
    assert numpy.allclose(lengths, 1, atol=1e-2)
    with pytest.raises(ValueError, match="read-only"):
        features.text[0] = 1


def test_views_outlive_the_library(library: stitch.Library) -> None:
    opened = stitch.Library.open(library.folder)
    text = opened.features(1).text
    before = text.copy()
    del opened
    assert numpy.array_equal(text, before)


def stored(library: stitch.Library, name: str) -> numpy.ndarray:
    """The matrix as another reader of safetensors finds it in the file of the first video."""
    content = json.loads(library._native.videos())[0]["content"]
    data = (library.folder / "features" / f"{content}.safetensors").read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    about = json.loads(data[8 : 8 + length])[name]
    start, end = about["data_offsets"]
    return numpy.frombuffer(data[8 + length :][start:end], dtype="<f2").reshape(about["shape"])


@pytest.fixture
def new(tmp_path: Path) -> stitch.Library:
    return stitch.Library.create(tmp_path / "library")


def test_progress_is_reported_in_the_calling_thread(new: stitch.Library, world: Path) -> None:
    calls, threads = [], set()

    def progress(stage: str, done: int, total: int) -> None:
        calls.append((stage, done, total))
        threads.add(threading.current_thread())

    new.index(world, progress=progress)
    indexing = [call for call in calls if call[0] == "indexing"]
    assert indexing == [("indexing", done, 8) for done in range(9)]
    assert calls[0][0] == "looking for videos"
    assert threads == {threading.current_thread()}


def test_what_a_callback_raises_stops_the_work(new: stitch.Library, world: Path) -> None:
    class Enough(Exception):
        pass

    def progress(stage: str, done: int, total: int) -> None:
        if stage == "indexing":
            raise Enough

    with pytest.raises(Enough):
        new.index(world, progress=progress)
    assert new.index(world).indexed > 0


def test_ctrl_c_stops_an_index_and_the_next_goes_on(new: stitch.Library, world: Path, library: stitch.Library) -> None:
    begun = threading.Event()

    def interrupt() -> None:
        begun.wait()
        os.kill(os.getpid(), signal.SIGINT)

    def progress(stage: str, done: int, total: int) -> None:
        if done == 1:
            begun.set()

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        new.index(world, progress=progress)
    thread.join()
    kept = sum(video.status == "ready" for video in new.videos())
    report = new.index(world)
    assert 1 <= kept < 8
    assert (report.unchanged, report.indexed) == (kept, 8 - kept)
    assert [new.clips(video) for video in new.videos()] == [library.clips(video) for video in library.videos()]


def test_another_thread_runs_while_an_index_does(new: stitch.Library, world: Path) -> None:
    advanced = []
    begin = threading.Lock()
    begin.acquire()
    thread = threading.Thread(target=lambda: (begin.acquire(), advanced.append(True)))
    thread.start()
    interval = sys.getswitchinterval()
    # From here on another thread runs only where this one gives the interpreter lock away.
    sys.setswitchinterval(1e6)
    try:
        begin.release()
        assert advanced == []
        new.index(world)
        assert advanced == [True]
    finally:
        sys.setswitchinterval(interval)
        thread.join()


def test_one_index_at_a_time(new: stitch.Library, world: Path) -> None:
    with pytest.raises(stitch.StitchError, match=f"process {os.getpid()} is writing to the library"):
        new.index(world, progress=lambda stage, done, total: new.index(world))
    report = new.index(world)
    assert report.unchanged + report.indexed == 8


def test_a_video_that_cannot_be_read_is_a_warning(new: stitch.Library, tmp_path: Path) -> None:
    (tmp_path / "broken.mp4").write_bytes(b"no video")
    with pytest.warns(stitch.StitchWarning, match="broken.mp4"):
        report = new.index(tmp_path / "broken.mp4")
    assert report.indexed == 0
    assert report.failed[0][0].endswith("broken.mp4")
    assert new.videos()[0].status == "failed" and new.videos()[0].reason


def test_errors_carry_the_messages_of_stitch(
    new: stitch.Library, library: stitch.Library, tmp_path: Path
) -> None:
    def message(call) -> str:
        with pytest.raises(stitch.StitchError) as raised:
            call()
        return str(raised.value)

    assert "stitch index" in message(lambda: stitch.Library.open(tmp_path / "nothing"))
    assert "stitch index" in message(lambda: new.search("dice"))
    assert "describe what the clips should show" in message(lambda: library.search("  "))
    assert "no video files under" in message(lambda: new.index(tmp_path))
    assert "/no/such/folder" in message(lambda: new.index("/no/such/folder"))
    assert "has no video 7" in message(lambda: new.features(7))
    assert "there is no encoder `nothing`" in message(lambda: stitch.Library.create(tmp_path / "x", encoder="nothing"))
    with pytest.raises(TypeError):
        new.search(3)  # type: ignore[arg-type]
