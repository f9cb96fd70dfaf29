"""Features of the YouCook2 frames by the fold of `mini` that has not seen them, as one plain set for each fold.

    python folds.py video.npz DATA/youcook2_frames/videos.jsonl out

`video.npz` holds, for the shipped recipe's folds trained again (recipes/mini/jobs, then as `train.py unseen` does), the rows
`ship-fN_video_image` and `ship-fN_video_text`, and `fold`, `group` ("v:" and the video), `text`. Folds are different encoders:
their sets must never share a pool, which is why they are three.
"""

import json
import pathlib
import sys

import numpy as np


def unit(rows):
    rows = np.array(rows, np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def main():
    data, listed, out = np.load(sys.argv[1]), sys.argv[2], pathlib.Path(sys.argv[3])
    known = {line["video"]: line for line in map(json.loads, open(listed))}
    groups = [str(group).removeprefix("v:") for group in data["group"]]
    texts = [str(text).split() for text in data["text"]]
    for fold in range(3):
        folder = out / f"real-f{fold}"
        folder.mkdir(parents=True, exist_ok=True)
        mine = [row for row in range(len(groups)) if data["fold"][row] == fold]
        lines, image, text = [], [], []
        for video in dict.fromkeys(groups[row] for row in mine):
            rows = [row for row in mine if groups[row] == video]
            for step in known[video]["steps"]:
                row = next(row for row in rows if texts[row] == step["text"].split())
                rows.remove(row)
                image.append(data[f"ship-f{fold}_video_image"][row])
                text.append(data[f"ship-f{fold}_video_text"][row])
            steps = [{key: step[key] for key in ("text", "start", "end")} for step in known[video]["steps"]]
            lines.append(json.dumps(dict(video=video, recipe_type=known[video]["recipe_type"], steps=steps)))
        (folder / "videos.jsonl").write_text("\n".join(lines) + "\n")
        np.save(folder / "features.npy", unit(image))
        np.save(folder / "texts.npy", unit(text))


if __name__ == "__main__":
    main()
