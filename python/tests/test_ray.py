"""Indexing on a cluster of a head and three nodes on this machine."""

import json
import os
import random
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

import stitch
from conftest import ROOT, STITCH

ray = pytest.importorskip("ray")
from ray.cluster_utils import Cluster  # noqa: E402

import stitch.ray  # noqa: E402

PROGRAM = str(Path(__file__).with_name("contract.py"))
VIDEOS = [f"video-{number}.mp4" for number in range(30)]
NODE = {"num_cpus": 1, "object_store_memory": 80_000_000}
with socket.socket() as free:
    free.bind(("127.0.0.1", 0))
    PORT = free.getsockname()[1]  # of the S3 server; nodes inherit the variables that name it
S3 = {
    "AWS_ENDPOINT_URL": f"http://127.0.0.1:{PORT}",
    "AWS_ALLOW_HTTP": "true",
    "AWS_ACCESS_KEY_ID": "testing",
    "AWS_SECRET_ACCESS_KEY": "testing",
    "AWS_REGION": "us-east-1",
}


@pytest.fixture(scope="module")
def cluster(home: Path):
    os.environ.update(S3)
    cluster = Cluster(initialize_head=True, head_node_args={**NODE, "include_dashboard": False})
    for _ in range(3):
        cluster.add_node(**NODE)
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


@pytest.fixture(scope="module")
def bucket(tmp_path_factory: pytest.TempPathFactory):
    """A bucket of moto, which speaks S3 with conditional writes."""
    log = open(tmp_path_factory.mktemp("moto") / "log", "w")
    server = subprocess.Popen(
        [Path(sys.executable).with_name("moto_server"), "-H", "127.0.0.1", "-p", str(PORT)], stdout=log, stderr=log
    )
    for _ in range(300):
        try:
            request = urllib.request.Request(f"{S3['AWS_ENDPOINT_URL']}/ray-test", method="PUT")
            urllib.request.urlopen(request).close()
            break
        except urllib.error.URLError:
            time.sleep(0.1)
    yield "s3://ray-test"
    server.terminate()
    server.wait()


def run(*arguments: object) -> list:
    printed = subprocess.run([STITCH, "--json", *map(str, arguments)], check=True, stdout=subprocess.PIPE).stdout
    return [json.loads(line) for line in printed.splitlines()]


def answers(folder: Path) -> list:
    """All that a library says of some procedures, given by their steps: the small model cannot read texts."""
    library = stitch.Library.open(folder)
    procedures = [json.loads(line)["steps"] for line in (ROOT / "crates/lab/data/natural/reporting.jsonl").open()]
    steps = [[step["line"] for step in procedure] for procedure in procedures]
    return [library.demonstrate(lines, gaps="never").to_dict() for lines in steps]


def test_five_lost_nodes_change_nothing(cluster, bucket: str, tmp_path: Path) -> None:
    world = tmp_path / "videos"
    run("world", "render", "--out", world, "--videos", 60, "--size", "160x90", "--quiet")
    videos = sorted(world.rglob("*.mp4"))
    assert len(videos) == 60
    chance = random.Random(24)
    losses = sorted(chance.sample(range(4, 52), 5))
    own = ray.get_runtime_context().get_node_id()

    def progress(stage: str, done: int, total: int) -> None:
        while losses and done >= losses[0]:
            losses.pop(0)
            lost = chance.choice([node for node in cluster.worker_nodes if node.node_id != own])
            cluster.remove_node(lost, allow_graceful=False)
            cluster.add_node(**NODE)

    out = f"{bucket}/shards"
    report = stitch.ray.index(videos, out, batch=2, program=STITCH, progress=progress)
    assert (losses, report.failed, report.indexed + report.unchanged) == ([], [], 60)
    assert run("library", "verify", out) == [{"shards": 60, "unfinished": 0, "damaged": []}]
    assert run("library", "merge", out, "--library", tmp_path / "merged") == [{"shards": 60, "added": 60}]
    run("index", world, "--library", tmp_path / "alone")
    lists = [run("library", "list", "--library", tmp_path / name) for name in ("merged", "alone")]
    assert lists[0] == lists[1] and len({video["content"] for video in lists[0]}) == 60
    assert answers(tmp_path / "merged") == answers(tmp_path / "alone")
