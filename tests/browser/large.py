#!/usr/bin/env python3
"""Makes a large library from a small one: repeats every video with slightly perturbed features.

    tests/browser/large.py LIBRARY OUT CLIPS

For measuring response times; the videos are links to the same files.
"""

import json
import pathlib
import random
import shutil
import sqlite3
import struct
import sys


def perturbed(path, seed):
    """The bytes of a safetensors file of f16 values, with some low bytes changed."""
    data = bytearray(path.read_bytes())
    start = 8 + struct.unpack("<Q", data[:8])[0]
    rng = random.Random(seed)
    for at in rng.sample(range(start, len(data) - 1, 2), min(4000, (len(data) - start) // 4)):
        data[at] ^= rng.randrange(256)
    return bytes(data)


def main():
    source, out, clips = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), int(sys.argv[3])
    shutil.rmtree(out, ignore_errors=True)
    (out / "features").mkdir(parents=True)
    (out / "videos").mkdir()
    shutil.copy(source / "library.db", out / "library.db")
    for log in source.glob("library.db-*"):
        shutil.copy(log, out / log.name)
    db = sqlite3.connect(out / "library.db")
    have = db.execute("SELECT count(*) FROM clips").fetchone()[0]
    videos = db.execute("SELECT * FROM videos WHERE status = 'ready'").fetchall()
    columns = [column[1] for column in db.execute("PRAGMA table_info(videos)")]
    content = columns.index("content")
    number = db.execute("SELECT max(id) FROM videos").fetchone()[0]
    for video in videos:
        (out / "features" / f"{video[content]}.safetensors").write_bytes((source / "features" / f"{video[content]}.safetensors").read_bytes())
    for copy in range((clips - 1) // have):
        for video in videos:
            number += 1
            row = dict(zip(columns, video))
            old, row["content"] = row["content"], f"{copy:08x}{row['content'][8:]}"
            link = out / "videos" / f"{number}.mp4"
            link.symlink_to(row["path"])
            features = source / "features" / f"{old}.safetensors"
            (out / "features" / f"{row['content']}.safetensors").write_bytes(perturbed(features, number))
            row |= {"id": number, "path": str(link), "title": f"{row['title']} {copy}"}
            row["features_sha256"] = None  # its features are not those of the original
            db.execute(f"INSERT INTO videos VALUES ({','.join('?' * len(columns))})", [row[name] for name in columns])
            for table in ("clips", "sentences"):
                db.execute(f"INSERT INTO {table} SELECT ?, position, start_ms, end_ms, text FROM {table} WHERE video = ?", (number, video[0]))
    db.execute("UPDATE state SET last_video = ?", (number,))
    db.commit()
    print(json.dumps({"videos": number, "clips": db.execute("SELECT count(*) FROM clips").fetchone()[0]}))


if __name__ == "__main__":
    main()
