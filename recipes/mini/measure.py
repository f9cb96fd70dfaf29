"""What an encoder is measured by; plain numpy, so that it runs anywhere."""
import itertools

import numpy as np


def order(images, texts, groups):
    """Share of groups whose pictures are put exactly in the order of their texts: each text for itself, and by assignment."""
    hits = []
    for rows in groups:
        sims = texts[rows] @ images[rows].T
        n = len(rows)
        best = max(itertools.permutations(range(n)), key=lambda p: sum(sims[i, p[i]] for i in range(n)))
        hits.append((all(sims.argmax(1) == np.arange(n)), best == tuple(range(n))))
    return np.array(hits, float).reshape(-1, 2)


def ranks(queries, pool, right):
    """For each query the rank (from 1) of its best right answer; right[i] lists indices into pool."""
    sims = queries @ pool.T
    best = np.array([sims[i, r].max() for i, r in enumerate(right)])
    return 1 + (sims > best[:, None]).sum(1)


def recalls(found):
    return {"r1": 100 * float(np.mean(found <= 1)), "r5": 100 * float(np.mean(found <= 5)),
            "r10": 100 * float(np.mean(found <= 10)), "medr": float(np.median(found)), "n": len(found)}


def triples(group_ids, labels):
    """Disjoint runs of three items of one group with three different labels."""
    out, by = [], {}
    for i, g in enumerate(group_ids):
        by.setdefault(g, []).append(i)
    for rows in by.values():
        run = []
        for i in rows:
            if labels[i] not in [labels[j] for j in run]:
                run.append(i)
            if len(run) == 3:
                out.append(run)
                run = []
    return out
