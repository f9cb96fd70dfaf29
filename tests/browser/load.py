#!/usr/bin/env python3
"""Load test: many readers and jobs at once, and a server that is killed meanwhile.

    tests/browser/load.py STITCH OUT [--library LIBRARY]

200 threads read ranges of videos while 20 jobs are queued. Then the server is killed with SIGKILL while it
renders and started again. Every job must end, after one run, or two for the one that was killed.
"""

import argparse
import json
import os
import pathlib
import random
import signal
import threading
import time
import urllib.error
import urllib.request

from check import Site

READERS, JOBS, READS = 200, 20, 25


class Load(Site):
    """The server under load."""

    def request(self, path, body=None, headers=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data=data, headers={"content-type": "application/json", **self.headers, **(headers or {})})
        with urllib.request.urlopen(request, timeout=120) as answer:
            return answer.status, answer.read()

    def json(self, path, body=None):
        return json.loads(self.request(path, body)[1])

    def memory_mib(self):
        status = pathlib.Path(f"/proc/{self.server.pid}/status").read_text()
        return int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1]) // 1024


def read_ranges(site, videos, errors, seed):
    rng = random.Random(seed)
    for _ in range(READS):
        video = rng.choice(videos)
        start = rng.randrange(0, 200_000)
        try:
            status, body = site.request(f"/api/videos/{video}/file", headers={"range": f"bytes={start}-{start + 65535}"})
            if status != 206 or not body:
                errors.append(f"{status} {len(body)}")
        except urllib.error.HTTPError as error:
            if error.code != 416:
                errors.append(str(error))
        except OSError as error:
            errors.append(repr(error))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("stitch")
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--library")
    arguments = parser.parse_args()
    out = arguments.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    site = Load(arguments.stitch, out, arguments.library, study=False)
    videos = [video["id"] for video in site.json("/api/videos") if video["status"] == "ready"]
    steps = ["Dice a tomato", "Squeeze a lime", "Mash the avocado", "Wash the lettuce"]
    first = site.json("/api/demonstrations", {"procedure": {"title": "Load", "steps": steps}})
    wait(site, [first["job"]["id"]])
    before = site.memory_mib()

    start = time.time()
    jobs = []
    for i in range(JOBS):
        options = {"width": 160, "height": 90, "crossfade_ms": 100 * (i % 10)}
        jobs.append(site.json(f"/api/demonstrations/{first['id']}/renders", options)["id"])
    errors = []
    readers = [threading.Thread(target=read_ranges, args=(site, videos, errors, i)) for i in range(READERS)]
    [reader.start() for reader in readers]
    [reader.join() for reader in readers]
    seconds = time.time() - start
    after = site.memory_mib()
    assert not errors, f"{len(errors)} errors: {errors[:3]}"
    print(f"{READERS} readers, {READERS * READS} ranges in {seconds:.1f} s beside {JOBS} jobs, no error")
    print(f"memory: {before} MiB before, {after} MiB after")

    done = [job for job in site.json("/api/jobs") if job["id"] in jobs and job["status"] == "done"]
    os.kill(site.server.pid, signal.SIGKILL)
    site.server.wait()
    site.start()
    wait(site, jobs)
    all_jobs = [job for job in site.json("/api/jobs") if job["id"] in jobs]
    assert len(all_jobs) == JOBS and all(job["status"] == "done" for job in all_jobs), all_jobs
    runs = sorted(job["runs"] for job in all_jobs)
    assert runs[-1] <= 2 and sum(runs) <= JOBS + 1, runs
    for job in jobs:
        status, body = site.request(f"/api/jobs/{job}/video")
        assert status == 200 and body[4:8] == b"ftyp", job
    print(f"killed with -9 after {len(done)} of {JOBS} jobs; after the restart all are done after {sum(runs)} runs")
    print(f"memory: {site.memory_mib()} MiB at the end")
    site.stop()


def wait(site, jobs, seconds=600):
    end = time.time() + seconds
    while time.time() < end:
        found = {job["id"]: job["status"] for job in site.json("/api/jobs")}
        if all(found.get(job) in ("done", "failed", "cancelled") for job in jobs):
            return
        time.sleep(0.2)
    raise SystemExit(f"not done after {seconds} s: {found}")


if __name__ == "__main__":
    main()
