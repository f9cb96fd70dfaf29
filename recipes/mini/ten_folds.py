"""Jobs of ten folds, each with nine tenths of the videos to learn from: two seeds a tower, and the mean of their weights.

    python ten_folds.py work/jobs
    python pairs.py --work work --folds 10 --names "$(python ten_folds.py --names)"

They start from the means of the first stage, which saw every photograph, so that photographs are not out of fold here.
"""
import json
import pathlib
import sys

FOLDS = range(10)
TOWERS = {"first": ("lite2", (5, 6)), "second": ("lite1", (8, 9))}


def jobs():
    for fold in FOLDS:
        for tower, (model, seeds) in TOWERS.items():
            name = f"{tower}-of10-f{fold}"
            for seed in seeds:
                yield f"{name}-s{seed}", dict(model=model, init=f"{tower}-stage1", folds=len(FOLDS), fold=fold, seed=seed, looks=[])
            yield name, dict(soup=[f"{name}-s{seed}" for seed in seeds], looks=["256", "256+256f+own+ownf"])


if sys.argv[1] == "--names":
    print(",".join("+".join(f"{tower}-of10-f{fold}" for tower in TOWERS) for fold in FOLDS))
else:
    for name, job in jobs():
        (pathlib.Path(sys.argv[1]) / f"{name}.json").write_text(json.dumps(job))
