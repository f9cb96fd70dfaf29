"""Models side by side, measured by the features their jobs kept; plain numpy, so that it runs anywhere.

    python pairs.py --work WORK --names A0+B0,A1+B1,A2+B2 --looks 256,256+256f+own+ownf --against X0,X1,X2

One name per fold, of as many folds as `--folds` says; names joined by + look side by side. A stage without YouCook2 is one name.
Differences to `--against`, of the same folds and by the same look, are paired by video, by text and by picture.
"""
import argparse
import json
import pathlib

import numpy as np

import measure

FIELDS = ("cooking", "woodworking", "gardening", "other")


def features(models, kind, look="text"):
    """Every model's features at unit length, side by side; looks joined by + are averaged."""
    parts = [sum(m[f"{kind}_{part}"].astype(np.float32) for part in look.split("+")) for m in models]
    return np.concatenate([x / np.linalg.norm(x, axis=1, keepdims=True) for x in parts], 1) / len(parts) ** 0.5


def by(keys):
    out = {}
    for n, key in enumerate(keys):
        out.setdefault(key, []).append(n)
    return out


def one_fold(items, models, look, folds):
    """What is hit and what is missed, one value a video, text, photograph or picture; keyed so that two models' values meet."""
    out, m = {}, models[0]
    if "frames" in m:
        rows, z, t = m["frames"], features(models, "frames", look), features(models, "frames")
        for fold, at in by(items[r]["fold"] % folds for r in rows).items():
            groups = by(items[rows[k]]["group"] for k in at)
            hits = measure.order(z[at], t[at], list(groups.values()))
            out["each", fold], out["order", fold] = (dict(zip(groups, hits[:, k])) for k in (0, 1))
            out["rank", fold] = dict(zip(rows[at], measure.ranks(t[at], z[at], [[k] for k in range(len(at))])))
    if "photographs" in m:
        rows, z, t = m["photographs"], features(models, "photographs", look), features(models, "photographs")
        fold, labels = items[rows[0]]["fold"] % folds, [items[r]["label"] or r for r in rows]
        same = by(labels)
        out["photo", fold] = dict(zip(rows, measure.ranks(t, z, [same[label] for label in labels])))
        runs = measure.triples([items[r]["group"] for r in rows], labels)
        out["photo order", fold] = dict(zip([rows[r[0]] for r in runs], measure.order(z, t, runs)[:, 1]))
    if "flickr" in m:
        rows, z, t = m["flickr"], features(models, "flickr", look), features(models, "flickr")
        out["flickr", 0] = dict(enumerate(measure.ranks(t, z, [[k // 5] for k in range(len(t))])))
        out["flickr back", 0] = dict(zip(rows, measure.ranks(z, t, [list(range(5 * k, 5 * k + 5)) for k in range(len(rows))])))
    if "world" in m and "own" not in look:
        rows, z, t = m["world"], features(models, "world", look), features(models, "world")
        labels = np.array([items[r]["label"] for r in rows])
        for field, at in by(items[r]["domain"] for r in rows).items():
            out["world " + field, 0] = dict(zip(rows[at], measure.ranks(t[at], z[at], [np.flatnonzero(labels[at] == labels[k]) for k in at])))
        right = {}
        for at in by(items[r]["group"] for r in rows).values():
            right.update(zip(rows[at], labels[np.array(at)[(t[at] @ z[at].T).argmax(1)]] == labels[at]))
        out["world in video", 0] = right
    return out


def measured(items, results, names, look, folds):
    """Folds together: what is measured, then the fold, then the values. What every fold sees (Flickr8k, made-up frames) is the folds' mean."""
    out, seen = {}, {}
    for name in names:
        models = [np.load(results / f"{n}.npz") for n in name.split("+")]
        if any(f"flickr_{part}" not in m and f"frames_{part}" not in m for m in models for part in look.split("+")):
            return None
        for (what, fold), values in one_fold(items, models, look, folds).items():
            if what in ("flickr", "flickr back") or what.startswith("world"):
                fold = seen[what] = seen.get(what, -1) + 1
            out.setdefault(what, {})[fold] = values
    return out


def paired(a, b, hit):
    """Mean difference of what both have, with its 95 % interval."""
    d = np.array([float(hit(a[f][k])) - float(hit(b[f][k])) for f in a for k in a[f] if f in b and k in b[f]])
    return f"{100 * d.mean():+.1f} ± {196 * d.std() / len(d) ** 0.5:.1f}"


def line(items, m, other=None):
    """One model's figures in words; differences to another in brackets."""
    bits, ten, one, true = [], (lambda r: r <= 10), (lambda r: r <= 1), bool
    share = lambda what, hit: [100 * float(np.mean([hit(v) for v in m[what][f].values()])) for f in sorted(m[what])]
    all_of = lambda what, hit: 100 * float(np.mean([hit(v) for f in m[what].values() for v in f.values()]))
    plus = lambda what, hit: f" [{paired(m[what], other[what], hit)}]" if other and what in other else ""
    folds = lambda values: "(" + " ".join(f"{v:.1f}" for v in values) + ")"
    if "order" in m:
        p, n = all_of("order", true) / 100, sum(map(len, m["order"].values()))
        bits.append(f"order {all_of('each', true):.1f} / {100 * p:.1f} ± {196 * (p * (1 - p) / n) ** 0.5:.1f} {folds(share('order', true))}{plus('order', true)}")
        median = np.mean([np.median(list(v.values())) for v in m["rank"].values()])
        bits.append(f"R@10 {all_of('rank', ten):.1f} {folds(share('rank', ten))}{plus('rank', ten)} R@1 {all_of('rank', one):.1f} median {median:.0f}")
    if "photo" in m:
        hits = [v for f in m["photo order"].values() for v in f.values()]
        bits.append(f"photographs R@10 {all_of('photo', ten):.1f} {folds(share('photo', ten))}{plus('photo', ten)} order {sum(hits):.0f} of {len(hits)}{plus('photo order', true)}")
        for field in FIELDS:
            mine = lambda what: [v for f in m[what].values() for r, v in f.items() if items[r]["domain"] == field]
            bits[-1] += f"; {field} {100 * np.mean([r <= 10 for r in mine('photo')]):.0f}, {sum(mine('photo order')):.0f} of {len(mine('photo order'))}"
    if "flickr" in m:
        bits.append(f"Flickr8k {all_of('flickr', one):.1f}{plus('flickr', one)} / {all_of('flickr', lambda r: r <= 5):.1f} / {all_of('flickr', ten):.1f}{plus('flickr', ten)} back {all_of('flickr back', one):.1f}")
    if "world in video" in m:
        bits.append(f"made-up in video {all_of('world in video', true):.1f}, " + ", ".join(f"{w[6:]} {all_of(w, one):.1f}" for w in sorted(m) if w.startswith("world ") and w != "world in video"))
    return "\n    ".join(bits)


def main():
    args = argparse.ArgumentParser()
    args.add_argument("--work", type=pathlib.Path, required=True)
    args.add_argument("--names", required=True)
    args.add_argument("--against")
    args.add_argument("--folds", type=int, default=3)
    args.add_argument("--looks", default="256,256+256f+own+ownf")
    args = args.parse_args()
    items, results = json.load(open(args.work / "items.json"))["items"], args.work / "results"
    for look in args.looks.split(","):
        m = measured(items, results, args.names.split(","), look, args.folds)
        other = measured(items, results, args.against.split(","), look, args.folds) if args.against else None
        if m:
            print(args.names, look, line(items, m, other), sep="\n    ")


if __name__ == "__main__":
    main()
