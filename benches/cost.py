"""What indexing a large collection into shards costs: CPU hours, bytes and euros, from rates measured here.

    make demo && python benches/cost.py [--videos N] [--minutes M] [--clips K]

Indexes the first N videos that `make demo` leaves into shards, with pictures (`mini`) and subtitles, without speech
recognition. CPU time counts with all child processes. Bytes are those of the files of the shards, by second of video and by
clip. The table is for videos of M minutes with K clips each. Prints one line of JSON, and the table.
"""

import argparse
import json
import os
import pathlib
import sqlite3
import sys
import tempfile

from measure import ROOT, STITCH, measure

DEMO = pathlib.Path(os.environ.get("STITCH_DEMO", ROOT / "demo"))
PRICES = {"core_hour": 0.04, "gigabyte_month": 0.022, "thousand_puts": 0.005}
"""In euros, as large providers list them for cores on demand and for object storage."""


def rates(videos):
    """CPU seconds and bytes, by second of video and by clip."""
    with tempfile.TemporaryDirectory() as name:
        out = pathlib.Path(name) / "shards"
        took = measure([STITCH, "index", *videos, "--out", out, "--speech", "never", "--encoder", "mini", "--quiet"])
        manifests = [json.loads(file.read_text())["shard"] for file in out.rglob("manifest.json")]
        files = {kind: sum(file.stat().st_size for file in out.rglob(f"*.{kind}")) for kind in ("safetensors", "mjpeg", "json")}
    seconds = sum(shard["video"]["length_ms"] for shard in manifests) / 1000
    clips = sum(len(shard["clips"]) for shard in manifests)
    dim = manifests[0]["made"]["encoder"]["dim"]
    by_second = 2 * dim  # the features of a second; the rest of the file is of clips
    return {
        "videos": len(manifests),
        "cpu_by_second": took["cpu_s"] / seconds,
        "bytes_by_second": by_second,
        "bytes_by_clip": (files["safetensors"] - by_second * seconds + files["json"]) / clips,
        "thumbnail_bytes": files["mjpeg"] / clips,
        "seconds": round(seconds),
        "clips": clips,
    }


def database_bytes_by_clip():
    """Of the library's database, which the merge makes."""
    file = DEMO / "index/library.db"
    with sqlite3.connect(f"file:{file}?mode=ro&immutable=1", uri=True) as database:
        return file.stat().st_size / database.execute("SELECT count(*) FROM clips").fetchone()[0]


def cost(rates, videos, seconds, clips):
    core_hours = videos * seconds * rates["cpu_by_second"] / 3600
    shards = videos * (seconds * rates["bytes_by_second"] + clips * (rates["bytes_by_clip"] + rates["thumbnail_bytes"]))
    # The rows of a segment and their codes: see docs/src/operations.md.
    pool = videos * clips * rates["segment_bytes_by_clip"]
    library = shards - videos * clips * rates["thumbnail_bytes"] + pool + videos * clips * rates["database_bytes_by_clip"]
    return {
        "videos": videos,
        "core_hours": round(core_hours),
        "shards_gb": round(shards / 1e9, 1),
        "library_gb": round(library / 1e9, 1),
        "indexing_euros": round(core_hours * PRICES["core_hour"] + 3 * videos / 1000 * PRICES["thousand_puts"]),
        "storage_euros_a_month": round(shards / 1e9 * PRICES["gigabyte_month"], 2),
    }


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--videos", type=int, default=24)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--clips", type=int, default=60)
    arguments = parser.parse_args()
    videos = sorted((DEMO / "library").rglob("*.mp4"))[: arguments.videos]
    if not videos:
        sys.exit(f"no videos in {DEMO}/library; `make demo` makes them")
    measured = rates(videos)
    measured["database_bytes_by_clip"] = database_bytes_by_clip()
    dims = (768, 384, 3 * 128)
    measured["segment_bytes_by_clip"] = 2 * sum(dims) + sum(dims[:2]) + 2 * 8 + 24  # f16 rows, codes, scales, spans
    table = [cost(measured, 10**power, 60 * arguments.minutes, arguments.clips) for power in (5, 6, 7)]
    print(json.dumps({"rates": measured, "prices": PRICES, "table": table}))
    print("| videos | core hours | shards | library | indexing | keeping the shards |\n|---|---|---|---|---|---|")
    for row in table:
        print(f"| 10^{len(str(row['videos'])) - 1} | {row['core_hours']:,} | {row['shards_gb']:,} GB | "
              f"{row['library_gb']:,} GB | {row['indexing_euros']:,} € | {row['storage_euros_a_month']:,} € a month |")


main()
