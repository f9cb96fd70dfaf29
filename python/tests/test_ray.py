"""Indexing on a cluster of a head and three nodes on this machine."""

from pathlib import Path

import pytest

import stitch

ray = pytest.importorskip("ray")
from ray.cluster_utils import Cluster  # noqa: E402

import stitch.ray  # noqa: E402

PROGRAM = str(Path(__file__).with_name("contract.py"))
VIDEOS = [f"video-{number}.mp4" for number in range(30)]


@pytest.fixture(scope="module")
def cluster():
    node = {"num_cpus": 1, "object_store_memory": 80_000_000}
    cluster = Cluster(initialize_head=True, head_node_args={**node, "include_dashboard": False})
    for _ in range(3):
        cluster.add_node(**node)
    ray.init(address=cluster.address, log_to_driver=False)
    yield cluster
    ray.shutdown()
    cluster.shutdown()


def test_every_video_is_indexed_once_and_bad_ones_stop_nothing(cluster, tmp_path: Path) -> None:
    calls = []
    videos = [*VIDEOS[:3], "broken.mp4", "crash.mp4", *VIDEOS[3:]]
    report = stitch.ray.index(
        videos, tmp_path, batch=4, program=PROGRAM, progress=lambda *call: calls.append(call)
    )
    assert (report.found, report.clips) == (32, 2 * len(VIDEOS))
    # The videos of the task that crashed were tried again, each alone: some had their shard already.
    assert report.indexed + report.unchanged == len(VIDEOS)
    assert sorted(report.failed) == [
        ("broken.mp4", "it cannot be read"),
        ("crash.mp4", f"{PROGRAM} ended with code -9"),
    ]
    assert {path.name for path in tmp_path.iterdir()} == {Path(video).stem for video in VIDEOS}
    assert calls[-1] == ("indexing", 32, 32) and [call[1] for call in calls] == sorted(call[1] for call in calls)
    again = stitch.ray.index(VIDEOS, tmp_path, batch=4, program=PROGRAM)
    assert (again.indexed, again.unchanged, again.failed) == (0, len(VIDEOS), [])


def test_a_lost_node_loses_no_video(cluster, tmp_path: Path) -> None:
    own = ray.get_runtime_context().get_node_id()  # the driver cannot lose the node that it is connected to
    lost = next(node for node in cluster.worker_nodes if node.node_id != own)

    def progress(stage: str, done: int, total: int) -> None:
        if done == 1:
            cluster.remove_node(lost, allow_graceful=False)

    report = stitch.ray.index(VIDEOS, tmp_path, batch=1, program=PROGRAM, progress=progress)
    assert (report.indexed + report.unchanged, report.failed) == (len(VIDEOS), [])
    assert len(list(tmp_path.iterdir())) == len(VIDEOS)


def test_what_is_wrong_is_told(cluster, tmp_path: Path) -> None:
    with pytest.raises(stitch.OptionError, match="batch must be 1 or more"):
        stitch.ray.index(VIDEOS, tmp_path, batch=0)
    report = stitch.ray.index(VIDEOS[:2], tmp_path / "nothing", program=PROGRAM)
    assert sorted(report.failed) == [(video, f"there is no {tmp_path}/nothing") for video in VIDEOS[:2]]
    assert stitch.ray.index([], tmp_path).found == 0

    def progress(stage: str, done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stitch.ray.index(VIDEOS, tmp_path, batch=1, program=PROGRAM, progress=progress)
