"""The cooking evaluator: the made-up library and the real frames of all folds together, in PyTorch with the Rust program's keys.

    python cooking.py OUT

Reads data/cooking.npz, data/test_cooking.npz and real/{video,flickr}.npz as trial.py describes them; writes the model's folder.
`stitch train --data … --set … --set …` does the same in the program (several collections, each with its own pool).
"""

import json
import pathlib
import sys

import numpy as np
import torch
import torch.nn.functional as F
from safetensors.numpy import save_file

from trial import *

PAPER, FURTHER = ["correctness", "continuity", "state"], ["swap", "random", "wrong"]
CONFIG = dict(
    DEF,
    channels=["sim", "stand", "source"],
    raw=False,
    width=64,
    layers=2,
    hidden=128,
    heads=4,
    lr=1e-3,
    steps=600,
    batch=48,
    per=2,
    maxpos=1000,
    kinds=PAPER + FURTHER,
    seed=0,
)


def learn():
    made, real = load("data/cooking.npz"), real_lib("real", "stage1")
    groups = [(made, *examples(made, 0, CONFIG, np.random.default_rng(7)), 1.0)]
    for fold in range(3):  # a fold is another encoder: its clips never meet those of another
        videos = [real.clips[video] for video in real.clips if real.split[video] == fold]
        drawn = examples(real, fold, dict(CONFIG, kinds=FURTHER, per=12, textaug=0), np.random.default_rng(7), videos)
        groups.append((real, *drawn, 0.5))
    return made, train_multi(groups, CONFIG)


def judged(net, made):
    """Logits of held-out procedures as they are and spoilt, and which half each belongs to."""
    held = [np.array(p["clips"]) for p in made.procs if p["split"] != "train" and p["builder"] != "real"]
    held = [held[i] for i in np.random.default_rng(3).permutation(len(held))[:160]]
    right, bank, _ = examples(made, 1, dict(CONFIG, per=1), np.random.default_rng(5), held)
    rows = []
    with torch.no_grad():
        for i, clips in enumerate(right):
            for y, shown in [(1, clips)] + [(0, bank[kind][i][0]) for kind in bank if bank[kind][i]]:
                rows.append((float(net(made, torch.tensor(clips)[None], torch.tensor(np.array(shown))[None])[0]), y, i % 2))
    return map(np.array, zip(*rows))


def platt(logits, right):
    scale, shift = torch.tensor(1.0, requires_grad=True), torch.tensor(0.0, requires_grad=True)
    optimiser = torch.optim.LBFGS([scale, shift], max_iter=200)

    def loss():
        optimiser.zero_grad()
        value = F.binary_cross_entropy_with_logits(scale * torch.tensor(logits).float() + shift, torch.tensor(right).float())
        value.backward()
        return value

    optimiser.step(loss)
    return scale.item(), shift.item()


def reliability(said, right):
    rows = []
    for k in range(10):
        inside = (said >= k / 10) & ((said < (k + 1) / 10) | (k == 9))
        if inside.any():
            rows.append(
                {
                    "from": k / 10,
                    "to": (k + 1) / 10,
                    "count": int(inside.sum()),
                    "said": float(said[inside].mean()),
                    "was": float(right[inside].mean()),
                }
            )
    return rows, sum(row["count"] * abs(row["said"] - row["was"]) for row in rows) / len(right)


def main():
    out = pathlib.Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    made, net = learn()
    logits, right, half = judged(net, made)
    scale, shift = platt(logits[half == 0], right[half == 0])
    sigmoid = lambda x: 1 / (1 + np.exp(-x))
    test = half == 1
    table, error = reliability(sigmoid(scale * logits[test] + shift), right[test])
    sets, _ = load_sets("data/test_cooking.npz")
    metrics = dict(
        procedures=len(sets),
        evaluator=summary(ranks(score(net, made, sets))),
        average_similarity=summary(ranks(avg(made, sets))),
        calibration=dict(
            sequences=int(test.sum()), error_before=reliability(sigmoid(logits[test]), right[test])[1], error=error, reliability=table
        ),
    )
    save_file({key: value.numpy().astype(np.float16) for key, value in net.state_dict().items()}, out / "model.safetensors")
    (out / "metrics.json").write_text(json.dumps(dict(calibration=dict(scale=scale, shift=shift), metrics=metrics), indent=2))


if __name__ == "__main__":
    main()
