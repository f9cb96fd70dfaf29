import numpy as np, json, sys, os, time, torch, torch.nn as nn, torch.nn.functional as F
from distractors import *

DEV = "cuda" if torch.cuda.is_available() else "cpu"


class Lib:
    """clips with features, on the device; texts are those of clips (q id = clip whose text is asked)"""

    def __init__(s, V, T, S, vid, pos, vtask, split, procs, action=None):
        s.V, s.T, s.S = [np.asarray(x, np.float32) for x in (V, T, S)]
        s.vid, s.pos, s.vtask, s.split = vid, pos, vtask, split
        s.procs = procs
        s.action = action
        s.clips = {v: np.flatnonzero(vid == v)[np.argsort(pos[vid == v], kind="stable")] for v in np.unique(vid)}
        s.d = dict(V=s.V, T=s.T, vid=vid, pos=pos, vtask=vtask, clips=s.clips)
        s.part = split[vid]
        s.SS = s.S @ s.S.T
        s.mu = np.zeros(len(V), np.float32)
        s.sd = np.ones(len(V), np.float32)
        for p in np.unique(s.part):
            i = np.flatnonzero(s.part == p)
            x = s.T[i] @ s.V[i].T
            s.mu[i] = x.mean(1)
            s.sd[i] = x.std(1)
        t = lambda x, dt=torch.float32: torch.as_tensor(np.asarray(x), dtype=dt, device=DEV)
        s.tV, s.tT, s.tmu, s.tsd, s.tvid, s.tpos = t(s.V), t(s.T), t(s.mu), t(s.sd), t(vid, torch.long), t(pos, torch.long)


def load(path):
    z = np.load(path)
    return Lib(
        z["V"],
        z["T"],
        z["S"],
        z["vid"],
        z["pos"],
        z["vtask"],
        z["split"],
        json.loads(str(z["procs"])),
        z["action"] if "action" in z else None,
    )


# ------------------------------------------------------------ negatives (ids)
def faults(c, q, L, shows):
    w = sum(L.SS[a, b] < shows for a, b in zip(q, c))
    v = L.vid[c]
    inter = sum(v[i - 1] == v[i + 1] != v[i] for i in range(1, len(c) - 1))
    rev = sum(v[i] == v[j] and L.pos[c[i]] >= L.pos[c[j]] for i in range(len(c)) for j in range(i + 1, len(c)))
    return w, inter, rev


class Neg:
    def __init__(s, L, part, shows=0.7, unlike=0.45):
        s.L, s.shows, s.unlike = L, shows, unlike
        s.ids = np.flatnonzero(L.part == part)
        s.by = {}
        s.showing = [None] * len(L.V)

    def show(s, q):
        if s.showing[q] is None:
            s.showing[q] = s.ids[s.L.SS[q, s.ids] >= s.shows]
        return s.showing[q]

    def correctness(s, q, c, rng, m=1):
        L = s.L
        c = list(c)
        own = np.concatenate([L.clips[v] for v in set(L.vid[c])])
        done = 0
        for i in rng.permutation(len(c)):
            o = own[L.SS[q[i], own] < s.unlike]
            o = o[~np.isin(o, c)] if len(o) > 2 else o
            if len(o) == 0:
                continue
            for x in rng.permutation(o)[:4]:
                e = list(c)
                e[i] = x
                a, b = faults(e, q, L, s.shows), faults(c, q, L, s.shows)
                if a[1] <= b[1] and a[2] <= b[2]:
                    c = e
                    done += 1
                    break
            else:
                continue
            if done >= m:
                break
        return c if done else None

    def continuity(s, q, c, rng, m=1):
        L = s.L
        c = list(c)
        v = L.vid[c]
        done = 0
        mid = [i for i in range(1, len(c) - 1) if v[i - 1] == v[i] == v[i + 1]]
        for i in rng.permutation(mid):
            o = s.show(q[i])
            o = o[L.vid[o] != v[i]]
            if len(o) == 0:
                continue
            i = int(i)
            c[i] = rng.choice(o)
            done += 1
            if done >= m:
                break
        return c if done else None

    def state(s, q, c, rng):
        L = s.L
        n = len(c)
        pairs = [(a, b) for a in range(n) for b in range(a + 1, n)]
        b0 = faults(c, q, L, s.shows)
        for k in rng.permutation(len(pairs)):
            x, y = pairs[k]
            A, B = s.show(q[x]), s.show(q[y])
            # a video with a clip for the earlier step that starts after a clip for the later step
            common = np.intersect1d(L.vid[A], L.vid[B])
            for v in rng.permutation(common)[:6]:
                a = A[L.vid[A] == v]
                b = B[L.vid[B] == v]
                g = [(i, j) for i in a for j in b if L.pos[j] < L.pos[i]]
                if not g:
                    continue
                i, j = g[rng.integers(len(g))]
                e = list(c)
                e[x] = i
                e[y] = j
                f = faults(e, q, L, s.shows)
                if f[2] > b0[2] and f[0] <= b0[0] and f[1] <= b0[1]:
                    return e
        return None

    # beyond the paper
    def scatter(s, q, c, rng):
        """every clip (or most) replaced by one of another video that shows the step by its text"""
        L = s.L
        c = list(c)
        done = 0
        for i in range(len(c)):
            if rng.random() < 0.75:
                o = s.show(q[i])
                o = o[L.vid[o] != L.vid[c[i]]]
                if len(o):
                    c[i] = rng.choice(o)
                    done += 1
        return c if done else None

    def mined(s, q, c, rng):
        """clips replaced by those that the encoder finds most similar"""
        L = s.L
        c = list(c)
        p = rng.choice([0.4, 1.0])
        for i in range(len(c)):
            if rng.random() < p:
                x = L.T[q[i]] @ L.V[s.ids].T
                t = s.ids[np.argpartition(-x, 20)[:20]]
                t = t[np.argsort(-(L.T[q[i]] @ L.V[t].T))]
                c[i] = t[min(19, int(20 ** rng.random()) - 1)]
        return c

    def random(s, q, c, rng):
        L = s.L
        tasks = set(L.vtask[L.vid[c]])
        own = [v for v in L.clips if L.part[L.clips[v][0]] == L.part[c[0]] and L.vtask[v] in tasks]
        if rng.random() < 0.5:
            return fit_len(L.clips[rng.choice(own)], len(c))
        p = np.concatenate([L.clips[v] for v in own])
        return list(rng.choice(p, len(c), replace=len(p) < len(c)))

    def swap(s, q, c, rng):
        c = list(c)
        i, j = rng.choice(len(c), 2, replace=False)
        c[i], c[j] = c[j], c[i]
        return c

    def make(s, kind, q, c, rng):
        m = 1
        if kind.endswith("+"):
            kind = kind[:-1]
            m = int(rng.integers(1, 1 + max(1, len(c) // 2)))
        f = getattr(s, kind)
        return f(q, c, rng, m) if kind in ("correctness", "continuity") else f(q, c, rng)


def pad(seqs, L):
    out = np.full((len(seqs), L), -1, np.int64)
    for i, x in enumerate(seqs):
        out[i, : len(x)] = x
    return out


# ------------------------------------------------------------ channels
RAW = False
SIZES = dict(sim=1, stand=1, source=5, prev=1, mean=1, row=1, col=1, resid=1)


def channels(L, q, c, names, drop_source=0.0):
    """q,c [B,n] ids (-1 padded) -> [B,n,C]"""
    m = c >= 0
    cc = c.clamp(min=0)
    qq = q.clamp(min=0)
    t, v = L.tT[qq], L.tV[cc]
    out = []
    sim = (t * v).sum(-1)
    X = G = None
    for n in names:
        if n == "sim":
            out.append((sim[..., None] - 0.35) * 8 if not RAW else sim[..., None])
        if n == "stand":
            out.append((((sim - L.tmu[qq]) / L.tsd[qq]))[..., None] / (1 if RAW else 2))
        if n in ("row", "col") and X is None:
            X = torch.einsum("bnd,bmd->bnm", t, v) * m[:, None, :] * m[:, :, None]
            k = (m.sum(1, keepdim=True) - 1).clamp(min=1)
        if n == "row":
            out.append(((sim - (X.sum(2) - sim * m) / k) * 5)[..., None])
        if n == "col":
            out.append(((sim - (X.sum(1) - sim * m) / k) * 5)[..., None])
        if n == "prev":
            p = torch.zeros_like(sim)
            p[:, 1:] = (v[:, 1:] * v[:, :-1]).sum(-1) - 0.5
            out.append(p[..., None] * 4)
        if n == "mean":
            G = torch.einsum("bnd,bmd->bnm", v, v) * m[:, None, :]
            k = (m.sum(1, keepdim=True) - 1).clamp(min=1)
            out.append((((G.sum(2) - 1) / k - 0.5) * 4)[..., None])
        if n == "source":
            vid, pos = L.tvid[cc], L.tpos[cc]
            o = torch.zeros(*c.shape, 5, device=c.device)
            n_ = c.shape[1]
            o[:, 0, 0] = 1
            same = vid[:, 1:] == vid[:, :-1]
            later = pos[:, 1:] > pos[:, :-1]
            o[:, 1:, 1] = (same & later).float()
            o[:, 1:, 2] = (same & ~later).float()
            seen = torch.zeros_like(same)
            for i in range(1, n_):
                seen[:, i - 1] = (vid[:, i : i + 1] == vid[:, :i]).any(1)
            o[:, 1:, 3] = (~same & ~seen).float()
            o[:, 1:, 4] = (~same & seen).float()
            out.append(o)
    return torch.cat(out, -1) * m[..., None] if out else torch.zeros(*c.shape, 0, device=c.device)


class Net(nn.Module):
    def __init__(s, c):
        super().__init__()
        d = c["width"]
        s.c = c
        k = sum(SIZES[n] for n in c["channels"])
        s.project = nn.Linear(768 + k if c["raw"] else k, d)
        s.cls = nn.Parameter(torch.randn(d) * 0.02)
        s.position = nn.Embedding(33, d)
        nn.init.normal_(s.position.weight, std=0.02 if c["pos"] else 0)
        l = nn.TransformerEncoderLayer(
            d, c["heads"], c["hidden"], c["dropout"], F.gelu if c["norm_first"] else F.relu, batch_first=True, norm_first=c["norm_first"]
        )
        s.encoder = nn.TransformerEncoder(l, c["layers"], nn.LayerNorm(d) if c["norm_first"] else None, enable_nested_tensor=False)
        s.head = nn.Sequential(nn.Linear(d, d), nn.GELU(), nn.Linear(d, 1))

    def forward(s, L, q, c):
        m = c >= 0
        ch = channels(L, q, c, s.c["channels"])
        if s.c["raw"]:
            t, v = L.tT[q.clamp(min=0)], L.tV[c.clamp(min=0)]
            x = torch.cat([t * s.c["scale"], v * s.c["scale"]], -1)
            if s.training and s.c["noise"]:
                x = x + torch.randn_like(x) * s.c["noise"] * s.c["scale"] / 20
            if s.training and s.c["rawdrop"]:
                x = x * (torch.rand(len(x), 1, 1, device=x.device) > s.c["rawdrop"])
            x = torch.cat([x, ch], -1)
        else:
            x = ch
        x = s.project(x)
        x = torch.cat([s.cls.expand(len(x), 1, -1), x], 1) + s.position.weight[: x.shape[1] + 1]
        mask = torch.cat([torch.zeros(len(m), 1, dtype=torch.bool, device=m.device), ~m], 1)
        return s.head(s.encoder(x, src_key_padding_mask=mask)[:, 0])[:, 0]


DEF = dict(
    width=256,
    layers=3,
    heads=8,
    hidden=512,
    dropout=0.1,
    norm_first=True,
    raw=True,
    pos=True,
    channels=["sim", "stand", "source"],
    scale=10.0,
    noise=0.0,
    rawdrop=0.0,
    lr=3e-4,
    wd=0.01,
    steps=1200,
    batch=96,
    warm=60,
    kinds=["correctness", "continuity", "state"],
    rates=None,
    data="mixed",
    textaug=0.3,
    seed=0,
    per=6,
    shows=0.7,
    unlike=0.45,
    maxpos=3000,
)


def examples(L, part, cfg, rng, procs=None):
    """positives and a bank of negatives per positive and kind"""
    P = (
        procs
        if procs is not None
        else [p for p in L.procs if (p["split"] == "train") == (part == 0) and (cfg["data"] != "real" or p["builder"] == "real")]
    )
    P = [np.array(p["clips"] if isinstance(p, dict) else p) for p in P]
    if len(P) > cfg["maxpos"]:
        P = [P[i] for i in rng.permutation(len(P))[: cfg["maxpos"]]]
    N = Neg(L, part, cfg["shows"], cfg["unlike"])
    bank = {k: [[] for _ in P] for k in cfg["kinds"]}
    for i, c in enumerate(P):
        for k in cfg["kinds"]:
            for _ in range(cfg["per"]):
                n = N.make(k, c, c, rng)
                if n is not None and not np.array_equal(n, c):
                    bank[k][i].append(n)
    return P, bank, N


def train(L, cfg, P, bank, N, log=False, valid=None, init=None):
    torch.manual_seed(cfg["seed"])
    rng = np.random.default_rng(cfg["seed"] + 1)
    net = Net(cfg).to(DEV)
    if init is not None:
        net.load_state_dict(init)
    dec = [p for n, p in net.named_parameters() if p.ndim > 1 and "position" not in n]
    nod = [p for n, p in net.named_parameters() if not (p.ndim > 1 and "position" not in n)]
    opt = torch.optim.AdamW([dict(params=dec, weight_decay=cfg["wd"]), dict(params=nod, weight_decay=0.0)], lr=cfg["lr"])
    kinds = cfg["kinds"]
    losses = []
    ml = max(len(p) for p in P)
    rates = cfg["rates"] or [1] * len(kinds)
    order = []
    t0 = time.time()
    ema = None
    for step in range(cfg["steps"]):
        r = min(1, (step + 1) / cfg["warm"]) * 0.5 * (1 + np.cos(np.pi * step / cfg["steps"]))
        for g in opt.param_groups:
            g["lr"] = cfg["lr"] * r
        q, c, y = [], [], []
        for _ in range(cfg["batch"]):
            if not order:
                order = list(rng.permutation(len(P)))
            i = order.pop()
            p = P[i]
            qq = p.copy()
            if cfg["textaug"]:
                for j in range(len(qq)):
                    if rng.random() < cfg["textaug"]:
                        o = N.show(p[j])
                        qq[j] = o[rng.integers(len(o))] if len(o) else p[j]
            q.append(qq)
            c.append(p)
            y.append(1.0)
            for k, rate in zip(kinds, rates):
                b = bank[k][i]
                if b and (rate >= 1 or rng.random() < rate):
                    q.append(qq)
                    c.append(b[rng.integers(len(b))])
                    y.append(0.0)
        q = torch.as_tensor(pad(q, ml), device=DEV)
        c = torch.as_tensor(pad(c, ml), device=DEV)
        y = torch.tensor(y, device=DEV)
        net.train()
        l = net(L, q, c)
        loss = F.binary_cross_entropy_with_logits(
            l, y, pos_weight=torch.tensor(float((y == 0).sum() / y.sum()), device=DEV) if cfg.get("balance", True) else None
        )
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        opt.step()
        losses.append(loss.detach())
        if log and step % 100 == 99:
            print(step + 1, "loss %.4f" % torch.stack(losses[-100:]).mean().item(), "%.1fs" % (time.time() - t0), flush=True)
    net.eval()
    return net


def score(net, L, sets):
    """sets: list of (q [n], cands [500,n]) -> [Q,500]"""
    out = []
    with torch.no_grad():
        for q, C in sets:
            c = torch.as_tensor(C, device=DEV)
            qq = torch.as_tensor(q, device=DEV).expand(len(c), -1)
            out.append(net(L, qq, c).float().cpu().numpy())
    return np.array(out)


def avg(L, sets):
    return np.array([np.einsum("nd,cnd->cn", L.T[q], L.V[C]).mean(1) for q, C in sets])


def price(L, sets, cost):
    s = avg(L, sets)
    return s - np.array([(np.diff(L.vid[C], axis=1) != 0).sum(1) * cost / C.shape[1] for q, C in sets])


def testset(L, part, procs, rng, limit=150):
    """held-out procedures with distractors"""
    pool = np.flatnonzero(L.part == part)
    P = [np.array(p) for p in procs]
    pick = rng.permutation(len(P))[:limit]
    sets, K = [], []
    for i in pick:
        t = P[i]
        oth = [P[j] for j in rng.permutation(len(P))[:300] if j != i]
        d, k = distractors(L.T[t], t, pool, L.d, oth, set(L.vtask[L.vid[t]]), rng)
        sets.append((t, np.vstack([t[None], d])))
        K.append(k)
    return sets, K


def bykind(s, K):
    return [
        round(float(np.nanmean([(x[1:] > x[0])[k == j].mean() if (k == j).any() else np.nan for x, k in zip(s, K)])), 2) for j in range(5)
    ]


def paired(a, b, fn, n=2000, seed=0):
    r = np.random.default_rng(seed)
    i = r.integers(0, len(a), (n, len(a)))
    d = np.array([fn(a[x]) - fn(b[x]) for x in i])
    return float(fn(a) - fn(b)), float(np.percentile(d, 2.5)), float(np.percentile(d, 97.5))


def textmix(s, q, c, rng):
    """clips replaced by those of other videos whose texts are nearest"""
    L = s.L
    c = list(c)
    p = rng.choice([0.4, 1.0])
    done = 0
    for i in range(len(c)):
        if rng.random() < p:
            o = s.ids[L.vid[s.ids] != L.vid[q[i]]]
            x = L.SS[q[i], o]
            t = o[np.argpartition(-x, 5)[:5]]
            c[i] = rng.choice(t)
            done += 1
    return c if done else None


Neg.textmix = textmix


def wrong(s, q, c, rng):
    """one clip replaced by any clip of the task's videos (else of any) that does not show the step"""
    L = s.L
    c = list(c)
    i = rng.integers(len(c))
    o = s.ids[L.SS[q[i], s.ids] < s.unlike]
    c[i] = rng.choice(o)
    return c


Neg.wrong = wrong


def save_sets(path, sets, K):
    np.savez_compressed(
        path,
        n=len(sets),
        **{f"c{i}": C.astype(np.int32) for i, (q, C) in enumerate(sets)},
        **{f"k{i}": k.astype(np.int8) for i, k in enumerate(K)},
    )


def load_sets(path):
    z = np.load(path)
    return [(z[f"c{i}"][0].astype(np.int64), z[f"c{i}"].astype(np.int64)) for i in range(int(z["n"]))], [
        z[f"k{i}"] for i in range(int(z["n"]))
    ]


def train_multi(groups, cfg, init=None):
    """groups: list of (L,P,bank,N,weight)"""
    torch.manual_seed(cfg["seed"])
    rng = np.random.default_rng(cfg["seed"] + 1)
    net = Net(cfg).to(DEV)
    if init is not None:
        net.load_state_dict(init)
    dec = [p for n, p in net.named_parameters() if p.ndim > 1 and "position" not in n]
    nod = [p for n, p in net.named_parameters() if not (p.ndim > 1 and "position" not in n)]
    opt = torch.optim.AdamW([dict(params=dec, weight_decay=cfg["wd"]), dict(params=nod, weight_decay=0.0)], lr=cfg["lr"])
    kinds = cfg["kinds"]
    orders = [[] for _ in groups]
    tot = sum(g[4] for g in groups)
    hist = []
    for step in range(cfg["steps"]):
        r = min(1, (step + 1) / cfg["warm"]) * 0.5 * (1 + np.cos(np.pi * step / cfg["steps"]))
        for g in opt.param_groups:
            g["lr"] = cfg["lr"] * r
        opt.zero_grad()
        net.train()
        tl = 0
        for gi, (L, P, bank, N, w) in enumerate(groups):
            q, c, y = [], [], []
            for _ in range(max(1, round(cfg["batch"] * w / tot))):
                if not orders[gi]:
                    orders[gi] = list(rng.permutation(len(P)))
                i = orders[gi].pop()
                p = P[i]
                qq = p.copy()
                if cfg["textaug"]:
                    for j in range(len(qq)):
                        if rng.random() < cfg["textaug"]:
                            o = N.show(p[j])
                            qq[j] = o[rng.integers(len(o))] if len(o) else p[j]
                q.append(qq)
                c.append(p)
                y.append(1.0)
                for k in bank:
                    b = bank[k][i]
                    if b:
                        q.append(qq)
                        c.append(b[rng.integers(len(b))])
                        y.append(0.0)
            ml = max(len(x) for x in c)
            q = torch.as_tensor(pad(q, ml), device=DEV)
            c = torch.as_tensor(pad(c, ml), device=DEV)
            y = torch.tensor(y, device=DEV)
            l = net(L, q, c)
            loss = F.binary_cross_entropy_with_logits(l, y, pos_weight=((y == 0).sum() / y.sum()).float())
            (loss * w / tot).backward()
            tl += loss.detach() * w / tot
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        opt.step()
        hist.append(tl)
    net.eval()
    net.loss = float(torch.stack(hist[-100:]).mean())
    return net


def rotation(A, B):
    """the rotation R with A R ~ B"""
    u, _, v = np.linalg.svd(A.T @ B)
    return u @ v


def real_lib(folder, target="stage1", names=("ship-f0", "ship-f1", "ship-f2")):
    """every frame by the model of its fold, in one space by a rotation common to pictures and texts, fitted on Flickr"""
    z = np.load(folder + "/video.npz")
    fl = np.load(folder + "/flickr.npz")
    fold = z["fold"]
    V = np.zeros((len(fold), 384), np.float32)
    T = V.copy()
    f32 = lambda x: x.astype(np.float32)
    to = np.vstack([f32(fl[f"{target}_flickr_image"]), f32(fl[f"{target}_flickr_text"])]) if target else None
    for f, n in enumerate(names):
        R = (
            rotation(np.vstack([f32(fl[f"{n}_flickr_image"]), f32(fl[f"{n}_flickr_text"])]), to)
            if target
            else np.eye(384, dtype=np.float32)
        )
        i = fold == f
        V[i] = f32(z[f"{n}_video_image"])[i] @ R
        T[i] = f32(z[f"{n}_video_text"])[i] @ R
    g = z["group"]
    uv, vid = np.unique(g, return_inverse=True)
    rec = z["recipe"]
    ut = np.unique(rec)
    vt = np.zeros(len(uv), int)
    vt[vid] = np.searchsorted(ut, rec)
    sp = np.zeros(len(uv), int)
    sp[vid] = fold
    pos = np.zeros(len(vid), int)
    for v in range(len(uv)):
        i = np.flatnonzero(vid == v)
        pos[i] = np.arange(len(i))
    S = f32(z["emb"])
    S /= np.linalg.norm(S, axis=1, keepdims=True)
    return Lib(V, T, S, vid, pos, vt, sp, None)
