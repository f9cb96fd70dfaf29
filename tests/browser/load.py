#!/usr/bin/env python3
"""Load test: many readers and jobs at once, and a server that is killed meanwhile.

    tests/browser/load.py STITCH OUT [--library LIBRARY] [--seconds 60] [--kills 1]

300 connections are left half-open, and the next request is answered all the same. Then 200 threads read ranges of
videos while 20 jobs are queued, for so many seconds in all. Meanwhile the server is killed
with SIGKILL and started again, as often as told. Only while it is away may a request fail. Every job must end, and
run once more only for a kill that met it.
"""

import argparse
import http.client
import json
import os
import pathlib
import random
import signal
import socket
import threading
import time
import urllib.error
import urllib.request

from check import Site

READERS, JOBS, HALF_OPEN = 200, 20, 300
# Seconds after the server is back in which a request may fail that had met its absence.
MARGIN = 2


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


class Readers:
    """Threads that read ranges of videos until they are told to stop."""

    def __init__(self, site, videos):
        self.site, self.videos, self.done = site, videos, threading.Event()
        self.reads, self.errors = [0] * READERS, []
        self.threads = [threading.Thread(target=self.read, args=(i,)) for i in range(READERS)]
        [thread.start() for thread in self.threads]

    def read(self, number):
        rng = random.Random(number)
        while not self.done.is_set():
            start = rng.randrange(0, 200_000)
            path = f"/api/videos/{rng.choice(self.videos)}/file"
            try:
                status, body = self.site.request(path, headers={"range": f"bytes={start}-{start + 65535}"})
                if status != 206 or not body:
                    self.errors.append((time.time(), f"{status} {len(body)}"))
            except urllib.error.HTTPError as error:
                if error.code != 416:
                    self.errors.append((time.time(), str(error)))
            except (OSError, http.client.HTTPException) as error:
                self.errors.append((time.time(), repr(error)))
                time.sleep(0.1)  # the server is away
            self.reads[number] += 1

    def stop(self):
        self.done.set()
        [thread.join() for thread in self.threads]


def kill(site):
    """Kills the server and starts it again; when it was away."""
    before = time.time()
    os.kill(site.server.pid, signal.SIGKILL)
    site.server.wait()
    site.start()
    return before, time.time()


def ask_beside_half_open(site):
    """How long a request takes beside half-open connections, in seconds."""
    sockets = [socket.create_connection(("127.0.0.1", site.port)) for _ in range(HALF_OPEN)]
    [half_open.sendall(b"GET / HTTP/1.1\r\nhost:") for half_open in sockets]
    started = time.time()
    assert site.request("/api/videos")[0] == 200
    took = time.time() - started
    [half_open.close() for half_open in sockets]
    return took


def enqueue(site, demonstration, number):
    options = {"width": 160, "height": 90, "crossfade_ms": 10 * number}  # no two alike: none is there already
    return site.json(f"/api/demonstrations/{demonstration}/renders", options)["id"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("stitch")
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--library")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--kills", type=int, default=1)
    arguments = parser.parse_args()
    out = arguments.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    site = Load(arguments.stitch, out, arguments.library, study=False)
    videos = [video["id"] for video in site.json("/api/videos") if video["status"] == "ready"]
    steps = ["Dice a tomato", "Squeeze a lime", "Mash the avocado", "Wash the lettuce"]
    first = site.json("/api/demonstrations", {"procedure": {"title": "Load", "steps": steps}})
    wait(site, [first["job"]["id"]])
    print(f"beside {HALF_OPEN} half-open connections a request took {ask_beside_half_open(site):.2f} s")

    readers = Readers(site, videos)
    jobs, memory, away = [], [], []
    for part in range(1, arguments.kills + 2):
        # Part of the jobs, which a kill then meets.
        jobs += [enqueue(site, first["id"], number) for number in range(len(jobs), JOBS * part // (arguments.kills + 1))]
        time.sleep(1)
        if part > 1:
            away.append(kill(site))
        for _ in range(2):
            time.sleep(arguments.seconds / (arguments.kills + 1) / 2)
            memory.append(site.memory_mib())
    readers.stop()
    wait(site, jobs)
    was_away = lambda when: any(start <= when <= end + MARGIN for start, end in away)
    errors = [error for when, error in readers.errors if not was_away(when)]
    assert not errors, f"{len(errors)} errors: {errors[:3]}"
    all_jobs = [job for job in site.json("/api/jobs") if job["id"] in jobs]
    assert len(all_jobs) == JOBS and all(job["status"] == "done" for job in all_jobs), all_jobs
    runs = sum(job["runs"] for job in all_jobs)
    assert runs <= JOBS + arguments.kills, runs
    for job in jobs:
        status, body = site.request(f"/api/jobs/{job}/video")
        assert status == 200 and body[4:8] == b"ftyp", job
    growth = max(later - sooner for sooner, later in zip(memory[::2], memory[1::2]))
    assert growth < 32, f"memory grows: {memory}"
    seconds = sum(end - start for start, end in away)
    print(f"{READERS} readers, {sum(readers.reads)} ranges in {arguments.seconds:.0f} s, {JOBS} jobs, {arguments.kills} kills")
    print(f"{len(readers.errors)} requests failed, all while the server was away ({seconds:.1f} s in all)")
    print(f"every job is done; {runs} runs of {JOBS} jobs")
    print(f"memory in MiB, halfway to each kill and before it: {memory}")
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
