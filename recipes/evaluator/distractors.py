"""Distractors of five kinds in numpy. A library: dict V,T [N,d], vid [N] int, pos [N], task [N] int."""

import numpy as np, heapq


def kbest(S, k):
    """the k sequences of highest sum over per-step candidate lists; S: list of (ids, sims) sorted descending"""
    n = len(S)
    start = (0,) * n
    tot = lambda ix: sum(S[i][1][j] for i, j in enumerate(ix))
    heap = [(-tot(start), start)]
    seen = {start}
    out = []
    while heap and len(out) < k:
        s, ix = heapq.heappop(heap)
        out.append([S[i][0][j] for i, j in enumerate(ix)])
        for i in range(n):
            if ix[i] + 1 < len(S[i][0]):
                j = ix[:i] + (ix[i] + 1,) + ix[i + 1 :]
                if j not in seen:
                    seen.add(j)
                    heapq.heappush(heap, (-tot(j), j))
    return out


def covers(sim, ids, vids, k, top=50):
    """greedy set covers, one per first video: sim [n, P] of steps and pool clips `ids`, `vids` their videos"""
    n, P = sim.shape
    top = min(top, P)
    can = np.zeros((n, P), bool)
    for i in range(n):
        can[i, np.argpartition(-sim[i], top - 1)[:top]] = True
    uv, inv = np.unique(vids, return_inverse=True)
    best = np.full((n, len(uv)), -9.0, np.float32)
    arg = np.zeros((n, len(uv)), int)
    for p in range(P):
        v = inv[p]
        for i in range(n):
            if can[i, p] and sim[i, p] > best[i, v]:
                best[i, v] = sim[i, p]
                arg[i, v] = p
    has = best > -9
    count = has.sum(0)
    worth = np.where(has, best, 0).sum(0)
    order = np.lexsort((-worth, -count))
    out = []
    for v in order[:k]:
        if count[v] == 0:
            break
        seq = [-1] * n
        left = np.ones(n, bool)
        cur = v
        while left.any():
            for i in np.flatnonzero(left & has[:, cur]):
                seq[i] = ids[arg[i, cur]]
                left[i] = False
            if not left.any():
                break
            c = (has & left[:, None]).sum(0)
            if c.max() == 0:
                break
            w = np.where(has & left[:, None], best, 0).sum(0)
            cur = np.lexsort((-w, -c))[0]
        if min(seq) >= 0:
            out.append(seq)
    return out


def fit_len(clips, n):
    """a sequence of m clips as one of n: even places, in order"""
    m = len(clips)
    return [clips[int(j)] for j in np.floor((np.arange(n) + 0.5) * m / n)]


KINDS = ["rs", "full", "other", "rand", "sim"]


def distractors(q, truth, pool, lib, others, tasks, rng, counts=(100, 100, 100, 100, 99)):
    """q [n,d] F_M text; pool: clip ids that may be used; others: truths of other procedures; tasks: set of tasks of the truth's videos
    -> array [499,n], kinds [499]"""
    n = len(truth)
    sim = q @ lib["V"][pool].T
    vids = lib["vid"][pool]
    truth = tuple(truth)
    seen = {truth}
    got = {k: [] for k in KINDS}

    def put(kind, seqs, limit):
        for s in seqs:
            s = tuple(int(x) for x in s)
            if s in seen:
                continue
            seen.add(s)
            got[kind].append(s)
            if len(got[kind]) >= limit:
                return

    put("rs", covers(sim, pool, vids, 400), counts[0])
    same = [v for v in np.unique(lib["vid"][pool]) if lib["vtask"][v] in tasks]
    own = set(lib["vid"][list(truth)])
    full = [v for v in same if v not in own]
    rng.shuffle(full)
    put("full", [fit_len(lib["clips"][v], n) for v in full], counts[1])
    o = list(rng.permutation(len(others)))
    put("other", [fit_len(others[i], n) for i in o], counts[2])
    tp = np.concatenate([lib["clips"][v] for v in same])
    put("rand", [rng.choice(tp, n, replace=len(tp) < n) for _ in range(3 * counts[3])], counts[3])
    tops = [pool[np.argsort(-sim[i])[:20]] for i in range(n)]
    w = 1 / np.arange(1, 21)
    w /= w.sum()
    put("sim", [[t[j] for t, j in zip(tops, rng.choice(20, n, p=w))] for _ in range(1500)], counts[4])
    short = sum(c - len(got[k]) for k, c in zip(KINDS, counts))
    # a kind that runs short is filled from the others: other-pos then rand (any clip)
    if short > 0:
        extra = [fit_len(others[i], n) for i in o]
        put("other", extra, len(got["other"]) + short)
        short = 499 - sum(map(len, got.values()))
    while short > 0:
        put("rand", [rng.choice(tp if len(tp) >= 15 else pool, n, replace=False) for _ in range(short * 2)], len(got["rand"]) + short)
        if 499 - sum(map(len, got.values())) == short:
            put("rand", [rng.choice(pool, n, replace=False) for _ in range(short * 2)], len(got["rand"]) + short)
        short = 499 - sum(map(len, got.values()))
    return np.array([s for k in KINDS for s in got[k]]), np.repeat(np.arange(5), [len(got[k]) for k in KINDS])


def ranks(scores):
    """scores [Q,500], truth first -> expected rank under random ties"""
    t = scores[:, :1]
    return 1 + (scores[:, 1:] > t).sum(1) + (scores[:, 1:] == t).sum(1) / 2


def summary(r):
    r = np.asarray(r)
    return dict(
        medr=float(np.median(r)),
        r1=float((r <= 1).mean()),
        r5=float((r <= 5).mean()),
        r50=float((r <= 50).mean()),
        mrr=float((1 / r).mean()),
    )


def line(r):
    s = summary(r)
    return "MedR %6.1f R@1 %.3f R@5 %.3f R@50 %.3f" % (s["medr"], s["r1"], s["r5"], s["r50"])
