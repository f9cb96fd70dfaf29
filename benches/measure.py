"""Measures CPU time, wall time and peak memory of a command with all its processes; finds our programs."""

import os
import pathlib
import resource
import subprocess
import sys
import threading
import time

import psutil

ROOT = pathlib.Path(__file__).resolve().parent.parent
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
STITCH = TARGET / "release/stitch"


def bench(name):
    """The newest build of a bench target."""
    found = [path for path in (TARGET / "release/deps").glob(f"{name}-*") if not path.suffix]
    if not found:
        sys.exit(f"first: cargo bench --workspace --bench {name} --no-run")
    return max(found, key=lambda path: path.stat().st_mtime)


def measure(command, **options):
    """CPU seconds, wall seconds and peak megabytes of a command and its child processes."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.time()
    process = subprocess.Popen([str(word) for word in command], stdout=subprocess.DEVNULL, **options)
    peak = [0]
    watcher = threading.Thread(target=watch, args=(process, peak))
    watcher.start()
    if process.wait() != 0:
        sys.exit(f"failed: {command}")
    watcher.join()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"cpu_s": round(cpu, 2), "wall_s": round(time.time() - began, 2),
            "peak_mb": round(peak[0] / 1e6)}


def watch(process, peak):
    while process.poll() is None:
        total = 0
        try:
            root = psutil.Process(process.pid)
            for one in [root, *root.children(recursive=True)]:
                try:
                    total += one.memory_info().rss
                except psutil.Error:
                    pass
        except psutil.Error:
            pass
        peak[0] = max(peak[0], total)
        time.sleep(0.2)  # polling costs CPU time too


def ffmpeg(*arguments):
    """Makes test videos."""
    subprocess.run(["ffmpeg", "-v", "error", "-y", *map(str, arguments)], check=True)
