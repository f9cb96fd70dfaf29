"""Cosines of texts and real frames by the fold of `mini` that has not seen them, for `stitch eval calibrate --pictures`.

    python cosines.py video.npz > pictures.jsonl

`video.npz` is what folds.py reads. Each text with its own frame and 62 frames of other videos of its fold.
"""

import json
import sys

import numpy as np
from folds import unit

OTHERS = 62


def main():
    data, random = np.load(sys.argv[1]), np.random.default_rng(0)
    groups = [str(group) for group in data["group"]]
    numbers = {group: number for number, group in enumerate(dict.fromkeys(groups))}
    for fold in range(3):
        rows = np.where(data["fold"] == fold)[0]
        text, image = (unit(data[f"ship-f{fold}_video_{side}"][rows]) for side in ("text", "image"))
        cosines = text @ image.T
        for own, row in enumerate(rows):
            others = [other for other, at in enumerate(rows) if groups[at] != groups[row]]
            for at in [own, *random.choice(others, OTHERS, replace=False)]:
                cosine = round(float(cosines[own, at]), 4)
                print(json.dumps({"video": numbers[groups[row]], "cosine": cosine, "right": bool(at == own)}))


if __name__ == "__main__":
    main()
