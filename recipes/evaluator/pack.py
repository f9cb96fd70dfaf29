"""Indexed libraries and their procedures as the arrays that trial.py reads.

    python pack.py lib ../../models/mini/text_projection.safetensors data

For each domain in `lib` (as frames.py, `stitch index` and `stitch dataset mix` leave it) writes
data/DOMAIN.npz: V and T (clips and their texts by mini), S (texts by the sentence model), vid, pos,
vtask, split (0 train, 1 held out, -1 unused), procs. Then
data/test_DOMAIN.npz: 200 held-out mixed procedures with their distractors.
"""

import glob
import json
import math
import pathlib
import sqlite3
import sys

import numpy as np
from safetensors.numpy import load_file


def unit(rows):
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def project(rows, heads):
    """mini's text heads over sentence vectors, side by side."""

    def half(name):
        weight = lambda part: heads[f"{name}.{part}"]
        wide = rows @ weight("up.weight").T + weight("up.bias")
        wide = 0.5 * wide * (1 + np.vectorize(math.erf)(wide / math.sqrt(2)))
        return unit(rows @ weight("linear.weight").T + weight("linear.bias") + wide @ weight("down.weight").T)

    return unit(np.concatenate([half("first"), half("second")], axis=1))


def procedures(path, row_of):
    for line in open(path):
        example = json.loads(line)
        content = [source["content"] for source in example["sources"]]
        places = [(content[step["source"]], step["start_ms"], step["end_ms"]) for step in example["steps"]]
        yield {"split": example["split"], "builder": example["builder"], "clips": [row_of[p] for p in places]}


def pack(folder, head):
    database = sqlite3.connect(folder / "index/library.db")
    videos = database.execute("SELECT id, content, title FROM videos ORDER BY id").fetchall()
    clips = database.execute("SELECT video, start_ms, end_ms FROM clips ORDER BY video, position").fetchall()
    pool = load_file(glob.glob(str(folder / "index/pool-*.safetensors"))[0])
    S, V = unit(pool["text"].astype(np.float32)), unit(pool["clip"].astype(np.float32))
    number = {video: at for at, (video, *_) in enumerate(videos)}
    content = {video: content for video, content, _ in videos}
    titles = sorted({title for *_, title in videos})
    vid = np.array([number[video] for video, *_ in clips])
    row_of = {(content[video], start, end): row for row, (video, start, end) in enumerate(clips)}
    procs = list(procedures(folder / "procedures.jsonl", row_of))
    split = np.full(len(videos), -1)
    for procedure in procs:
        split[vid[procedure["clips"]]] = 0 if procedure["split"] == "train" else 1
    half = lambda rows: rows.astype(np.float16)
    return {
        "V": half(V), "T": half(project(S, head)), "S": half(S), "vid": vid,
        "pos": np.array([start for _, start, _ in clips]),
        "vtask": np.array([titles.index(title) for *_, title in videos]),
        "split": split, "procs": json.dumps(procs),
    }


def main():
    lib, head, out = pathlib.Path(sys.argv[1]), load_file(sys.argv[2]), pathlib.Path(sys.argv[3])
    head = {name: tensor.astype(np.float32) for name, tensor in head.items()}
    out.mkdir(exist_ok=True)
    for folder in sorted(path for path in lib.iterdir() if (path / "index/library.db").is_file()):
        np.savez(out / f"{folder.name}.npz", **pack(folder, head))
    from trial import load, save_sets, testset  # needs PyTorch

    for path in sorted(out.glob("[!t]*.npz")):
        made, random = load(path), np.random.default_rng(11)
        held = [p["clips"] for p in made.procs if p["split"] != "train" and p["builder"] != "real"]
        save_sets(out / f"test_{path.name}", *testset(made, 1, held, random, 200))


main()
