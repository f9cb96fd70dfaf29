"""Whether consecutive moments tell more than one: small heads over the features of a step's frames, learnt on the made-up library.

    stitch world render --frames-only --out motion --seed 77 --videos 60 --size 456x256 --frames-per-step 8
    python temporal.py --state stage1.safetensors --frames motion --data DATA --sentence all-mpnet-base-v2 --out temporal.json

The encoder stays as it is; give it weights that saw no YouCook2 frame. A head that is shown the mean alone is the control: what it
gains is not motion's. Real frames (one picture over and over, so nothing moves) go along in training with the wish that nothing
changes for them; others are measured.
"""
import argparse
import json
import pathlib

import numpy as np
import onnxruntime
import torch
import torch.nn as nn
import torch.nn.functional as F
from PIL import Image
from safetensors.numpy import load_file

import export
import measure
import prepare
from sentence import Sentence

MOMENTS = 8


class Moments(nn.Module):
    """The mean of the moments plus what a small network adds; the network starts at nothing."""

    def __init__(self, kind, dim, hidden=256, narrow=96):
        super().__init__()
        self.kind = kind
        if kind == "transformer":
            self.enter, self.place = nn.Linear(dim, narrow), nn.Parameter(0.02 * torch.randn(MOMENTS, narrow))
            self.layer = nn.TransformerEncoderLayer(narrow, 4, hidden, 0.1, "gelu", batch_first=True)
            hidden = narrow
        else:
            self.up = nn.Linear(3 * dim, hidden)
        self.down = nn.Linear(hidden, dim)
        nn.init.zeros_(self.down.weight)
        nn.init.zeros_(self.down.bias)

    def forward(self, z):
        mean = z.mean(1)
        if self.kind == "transformer":
            seen = self.layer(self.enter(20 * z) + self.place).mean(1)
        else:
            moved = 3.0 * (self.kind == "difference")
            change = torch.cat([(z[:, 1:] - z[:, :-1]).abs().mean(1), z[:, -1] - z[:, 0]], 1)
            seen = F.gelu(self.up(torch.cat([mean, moved * change], 1)))
        return F.normalize(mean + self.down(F.dropout(seen, 0.2, self.training)), dim=1)


def fit(kind, clips, label, texts, still, steps=300, seed=0):
    torch.manual_seed(seed)
    head = Moments(kind, clips.shape[-1]).train()
    opt = torch.optim.AdamW(head.parameters(), lr=1e-3, weight_decay=0.05)
    for _ in range(steps):
        pick, real = torch.randint(len(clips), (128,)), still[torch.randint(len(still), (64,))]
        loss = F.cross_entropy(30 * head(clips[pick]) @ texts.T, label[pick])
        loss = loss + 5 * (1 - (head(real[:, None].expand(-1, MOMENTS, -1)) * real).sum(1)).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    return head.eval()


def unit(x):
    return x / np.linalg.norm(x, axis=-1, keepdims=True)


def gather(args):
    """Features of the clips and of the real frames, and of all texts."""
    state = load_file(args.state)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(export.image_model(state).SerializeToString(), options)

    def look(picture):
        pixels = np.asarray(picture.convert("RGB").resize((256, 256), Image.BILINEAR)).transpose(2, 0, 1)[None]
        return session.run(None, {"pixels": np.ascontiguousarray(pixels)})[0][0]

    rows = [json.loads(line) for line in open(args.frames / "frames.jsonl")]
    rows = [r for r in rows if r["text"]]
    clips, at = [], 0
    while at + MOMENTS <= len(rows):
        run = rows[at:at + MOMENTS]
        if len({(r["video"], r["text"]) for r in run}) == 1:
            clips.append((run[0], np.stack([look(Image.open(args.frames / r["file"])) for r in run])))
            at += MOMENTS
        else:
            at += 1
    pack = prepare.Pack()
    prepare.add_youcook(pack, args.data, prepare.random.Random(0))
    real = np.stack([look(Image.open(prepare.io.BytesIO(b))) for b in pack.blobs])
    texts = [c[0]["text"] for c in clips] + [pack.texts.list[i["main"]] for i in pack.items]
    different = sorted(set(texts))
    said = export.text_features(export.head_of(state, "text"), Sentence(args.sentence)(different))[[different.index(t) for t in texts]]
    fold = np.array([i["fold"] % 3 for i in pack.items])
    return [c[0] for c in clips], np.stack([c[1] for c in clips]), said[:len(clips)], real, said[len(clips):], fold


def main():
    args = argparse.ArgumentParser()
    for name in ("state", "frames", "data", "sentence", "out"):
        args.add_argument("--" + name, type=pathlib.Path, required=True)
    args = args.parse_args()
    rows, clips, said, real, real_said, fold = gather(args)
    names = [prepare.world_label(r) for r in rows]
    labels = sorted(set(names))
    number = np.array([labels.index(n) for n in names])
    verb = np.array([n.split("/")[0] for n in labels])
    field = np.array([rows[names.index(n)]["domain"] for n in labels])
    texts = unit(np.stack([said[number == k].mean(0) for k in range(len(labels))]))
    video = np.array([r["video"] for r in rows])
    task = np.array([v.rsplit("-", 1)[0] for v in video])
    tasks = sorted(set(task), key=lambda t: (rows[list(task).index(t)]["domain"], t))
    tensor = lambda x: torch.from_numpy(np.ascontiguousarray(x, dtype=np.float32))
    still, z, t = tensor(real[fold != 0]), real[fold == 0], real_said[fold == 0]
    groups = [list(range(k, k + 3)) for k in range(0, len(z), 3)]

    def right(z, test):
        """Step and verb, among all steps of the field."""
        hits = []
        for n in np.flatnonzero(test):
            among = np.flatnonzero(field == field[number[n]])
            guess = among[(texts[among] @ z[n]).argmax()]
            hits.append((guess == number[n], verb[guess] == verb[number[n]]))
        return np.array(hits, float)

    def on_real(z):
        found = measure.ranks(t, z, [[i] for i in range(len(z))])
        return [100 * measure.order(z, t, groups)[:, 1].mean(), measure.recalls(found)["r10"]]

    half = np.array([prepare.fold_of(v) % 2 == 0 for v in video])
    plans = {"new videos of known tasks": [half, ~half], "new tasks": [np.isin(task, tasks[k::4]) for k in range(4)]}
    out = {"clips": len(rows), "labels": len(labels)}
    for plan, tests in plans.items():
        found, after = {}, {}
        for test in tests:
            found.setdefault("one moment", []).append(right(clips[:, MOMENTS // 2], test))
            found.setdefault("mean of the moments", []).append(right(unit(clips.mean(1)), test))
            for kind in ("mean", "difference", "transformer"):
                for seed in range(3):
                    head = fit(kind, tensor(clips[~test]), torch.from_numpy(number[~test]), tensor(texts), still, seed=seed)
                    with torch.no_grad():
                        found.setdefault("head: " + kind, []).append(right(head(tensor(clips)).numpy(), test))
                        after.setdefault("head: " + kind, []).append(on_real(head(tensor(z)[:, None].expand(-1, MOMENTS, -1)).numpy()))
        share = lambda v, k: round(100 * float(np.concatenate(v)[:, k].mean()), 1)
        out[plan] = {k: {"step": share(v, 0), "verb": share(v, 1)} for k, v in found.items()}
        out[plan]["real frames: order, R@10"] = {"as they are": on_real(z), **{k: np.mean(v, 0).round(1).tolist() for k, v in after.items()}}
        print(plan, json.dumps(out[plan]), flush=True)
    args.out.write_text(json.dumps(out, indent=1) + "\n")


if __name__ == "__main__":
    main()
