"""Indexes videos on a Ray cluster.

A task runs `stitch index --out` for a few videos and writes a shard for each. A shard that is there is not written again,
so that a task may be repeated, or run twice at once. `stitch library merge OUT` makes a library of the shards.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterable, Sequence
from dataclasses import astuple
from os import PathLike

import ray

from stitch._stitch import OptionError, StitchError
from stitch.results import Report


def index(
    urls: Iterable[str | PathLike[str]],
    out: str | PathLike[str],
    *,
    encoder: str | None = None,
    batch: int = 8,
    options: Sequence[str] = (),
    program: str = "stitch",
    num_cpus: float = 1,
    num_gpus: float = 0,
    retries: int = 5,
    progress: Callable[[str, int, int], object] | None = None,
) -> Report:
    """Indexes videos, given as paths or addresses that every node can read, into shards below `out`.

    A task takes `batch` videos, `num_cpus` cores and `num_gpus` GPUs, and is run again, `retries` times, when its node is
    lost. `options` are further ones of `stitch index`. A video that cannot be indexed is in `Report.failed` and does not
    stop the others; when a whole task fails, each of its videos gets a task of its own.
    """
    if batch < 1:
        raise OptionError("batch must be 1 or more")
    videos = [os.fspath(url) for url in urls]
    resources = {"num_cpus": num_cpus, "num_gpus": num_gpus, "max_retries": retries}
    task = ray.remote(_index).options(**resources)
    chosen = [*(["--encoder", encoder] if encoder else []), *options]
    command = [program, "--json", "index", "--out", os.fspath(out), *chosen, "--"]

    running: dict[ray.ObjectRef[Report], Sequence[str]] = {}

    def start(videos: Sequence[str]) -> None:
        running[task.remote(command, videos)] = videos

    reports = [Report(0, 0, 0, 0, [], 0)]
    done = 0
    try:
        for first in range(0, len(videos), batch):
            start(videos[first : first + batch])
        while running:
            [ended], _ = ray.wait(list(running))
            of = running.pop(ended)
            try:
                reports.append(ray.get(ended))
            except (ray.exceptions.RayError, StitchError) as error:
                if len(of) > 1:
                    for video in of:
                        start([video])
                    continue
                reports.append(Report(1, 0, 0, 0, [(of[0], _reason(error))], 0))
            done += len(of)
            if progress:
                progress("indexing", done, len(videos))
    finally:
        for unfinished in running:
            ray.cancel(unfinished, force=True)
    return Report(*(sum(column[1:], column[0]) for column in zip(*map(astuple, reports), strict=True)))


def _index(command: Sequence[str], videos: Sequence[str]) -> Report:
    """Runs the program, and reads the report that it prints."""
    ran = subprocess.run([*command, *videos], capture_output=True, text=True)
    if not ran.stdout.strip():
        raise StitchError(_message(ran.stderr) or f"{command[0]} ended with code {ran.returncode}")
    report = json.loads(ran.stdout.splitlines()[-1])
    return Report.of(report)


def _message(lines: str) -> str | None:
    """That of the error which the program printed last."""
    events = (json.loads(line) for line in reversed(lines.splitlines()) if line.startswith("{"))
    return next((event["message"] for event in events if event["event"] == "error"), None)


def _reason(error: Exception) -> str:
    """Ray wraps what a task raised, with the traceback in its text."""
    return str(getattr(error, "cause", None) or error)
