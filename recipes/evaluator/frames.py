"""Frames of the made-up library to features of `mini` and lists of videos, one folder for each domain.

    stitch world render --frames-only --out frames --seed 5150 --videos 900 --size 456x256 --frames-per-step 2
    python frames.py frames ../../models/mini out
    stitch index --library out/cooking/index --features out/cooking/features --text-encoder mini --annotations out/cooking/videos.jsonl

A second of a video gets the features of the drawn frame nearest to it; what is said in videos plays no part.
"""

import json
import pathlib
import re
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import onnxruntime
from PIL import Image

BATCH = 16


def unit(rows):
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def towers(model):
    """The image towers of a folder, in order."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    files = json.loads((model / "config.json").read_text())["image"]["files"]
    return [onnxruntime.InferenceSession(model / name, options, providers=["CPUExecutionProvider"]) for name in files]


def look(frames, rows, model):
    """The features of the frames that show a step, by file: what every tower sees, side by side."""
    sessions = towers(model)

    def picture(row):
        return np.asarray(Image.open(frames / row["file"]).convert("RGB").resize((256, 256), Image.BILINEAR)).transpose(2, 0, 1)

    def batch(start):
        pixels = np.stack([picture(row) for row in rows[start : start + BATCH]])
        return np.concatenate([unit(session.run(None, {"pixels": pixels})[0]) for session in sessions], axis=1)

    with ThreadPoolExecutor(2) as pool:
        features = unit(np.concatenate(list(pool.map(batch, range(0, len(rows), BATCH)))))
    return {row["file"]: feature for row, feature in zip(rows, features)}


def steps_of(rows, features):
    """The steps of a video with their spans, and when the video ends; two frames lie at 1/4 and 3/4 of each shot."""
    steps, end = [], 0.0
    for first, second in zip(rows[::2], rows[1::2]):
        half = second["second"] - first["second"]
        start, stop = first["second"] - half / 2, second["second"] + half / 2
        end = max(end, stop)
        if first["text"]:
            seen = [(row["second"], features[row["file"]]) for row in (first, second)]
            steps.append((dict(text=first["text"], start=round(start, 3), end=round(stop, 3)), seen))
    return steps, end


def main():
    frames, model, out = map(pathlib.Path, sys.argv[1:4])
    rows = [json.loads(line) for line in open(frames / "frames.jsonl")]
    features = look(frames, [row for row in rows if row["text"]], model)
    videos = {}
    for row in rows:
        videos.setdefault(row["video"], []).append(row)
    for name, own in videos.items():
        folder = out / own[0]["domain"]
        (folder / "features").mkdir(parents=True, exist_ok=True)
        steps, end = steps_of(own, features)
        seen = [each for _, both in steps for each in both]
        seconds = [min(seen, key=lambda each: abs(each[0] - second - 0.5))[1] for second in range(int(np.ceil(end)))]
        np.save(folder / "features" / f"{name}.npy", unit(np.stack(seconds)))
        (folder / "features" / "features.toml").write_text("rate = 1.0\ndim = 384\n")
        title = re.sub(r"-\d+$", "", name).replace("-", " ").capitalize()
        with open(folder / "videos.jsonl", "a") as listed:
            listed.write(json.dumps(dict(video=name, duration=end, title=title, steps=[step for step, _ in steps])) + "\n")


if __name__ == "__main__":
    main()
