"""Training of the two towers, one job or many on one GPU.

    python train.py decode   --pack PACK --work WORK         pictures to arrays of bytes
    python train.py embed    --pack PACK --work WORK         texts to embeddings
    python train.py features --pack PACK --work WORK         pooled features and scores of the untouched towers
    python train.py serve    --work WORK --workers 4   run the job files in WORK/jobs, results to WORK/results, until WORK/stop is there
    python train.py check    --work WORK --names A,B         what export.py proves itself by
    python train.py unseen   --work WORK --names A0+B0,A1+B1,A2+B2,A+B --out FILE   features of every frame by a pair that never saw it

A job is a JSON object of the settings in DEFAULTS that differ, or {"soup": [names]}: the mean of those jobs' weights.
See README.md for the jobs behind the table.
"""
import argparse
import json
import math
import multiprocessing
import os
import pathlib
import time
import traceback

import numpy as np

DEV = os.environ.get("MINI_DEVICE", "cuda")  # "cpu" to try the script out on a few pictures
DEFAULTS = dict(
    name="job", model="lite2", frozen=4, fold=0, folds=3, youcook=True, full=False, steps_fold=None, init=None,
    seed=0, steps=480, warmup=40, lr=1e-3, backbone_lr=4e-4, decay=0.05, ema=0.99, clip=5.0, size=224, crop=0.35, own=0.5, mix=0.4, drop_path=0.1,
    dropout=0.35, drop_in=0.35, text_drop=0.2, dim=192, hidden=384, white=0.5,
    soft=0.2, invideo=0.5, distil=0.1, phrases=0.3, ignore=0.9, scale_lr=3.0, scale_max=50.0, looks=["256"],
    batch=dict(caption=240, state=64, label=32, video=32, step=72, world=48),
)
MODELS = ("lite2", "lite1")
SIZES = {"big": (256, 256), "small": (224, 224), "wide": (384, 256)}  # width, height


# ---------------------------------------------------------------- the pack

def decode(job):
    """One run of pictures, squashed to both sizes, written straight into the shared arrays."""
    import io
    from PIL import Image
    path, work, first, rows, aspect = job
    out = [np.load(work / f"{name}.npy", mmap_mode="r+") for name in SIZES]
    aspects = []
    with open(path, "rb") as f:
        for n, (at, size) in enumerate(rows):
            f.seek(at)
            picture = Image.open(io.BytesIO(f.read(size))).convert("RGB")
            aspects.append(aspect or picture.width / picture.height)
            for size, array in zip(SIZES.values(), out):
                array[first + n] = np.asarray(picture.resize(size, Image.BILINEAR))
    for array in out:
        array.flush()
    return first, aspects


def shape_of(aspect, area=65536):
    """The sides, multiples of 32, nearest to a shape and about as large as 256 x 256."""
    sides = [(w, h) for w in range(160, 417, 32) for h in range(160, 417, 32) if 0.85 * area <= w * h <= 1.15 * area]
    return min(sides, key=lambda s: abs(math.log(s[0] / s[1] / aspect)))


def decode_shaped(job):
    """Pictures to be measured, in their own shape."""
    import io
    from PIL import Image
    path, rows = job
    out = []
    with open(path, "rb") as f:
        for n, at, size in rows:
            f.seek(at)
            picture = Image.open(io.BytesIO(f.read(size))).convert("RGB")
            out.append((n, np.asarray(picture.resize(shape_of(picture.width / picture.height), Image.BILINEAR))))
    return out


def decode_all(items, pack, work):
    for name, (width, height) in SIZES.items():
        np.lib.format.open_memmap(work / f"{name}.npy", "w+", np.uint8, (len(items), height, width, 3)).flush()
    jobs, shaped = [], []
    for s in range(0, len(items), 64):
        for part in sorted({i["part"] for i in items[s:s + 64]}):  # items lie in the order of the parts
            chunk = [n for n in range(s, min(s + 64, len(items))) if items[n]["part"] == part]
            world = 456 / 256 if items[chunk[0]]["source"] == "world" else None  # made-up frames came squashed
            jobs.append((pack / f"pictures{part}.bin", work, chunk[0], [(items[n]["at"], items[n]["bytes"]) for n in chunk], world))
            shaped.append((pack / f"pictures{part}.bin", [(n, items[n]["at"], items[n]["bytes"]) for n in chunk if measured(items[n])]))
    aspect, groups = np.zeros(len(items), np.float32), {}
    with multiprocessing.get_context("fork").Pool(16) as pool:
        for first, aspects in pool.imap_unordered(decode, jobs):
            aspect[first:first + len(aspects)] = aspects
        for part in pool.imap_unordered(decode_shaped, shaped):
            for n, array in part:
                groups.setdefault(array.shape, []).append((n, array))
    np.save(work / "aspect.npy", aspect)
    rows = {f"rows{k}": np.array([n for n, _ in v]) for k, v in enumerate(groups.values())}
    np.savez(work / "shaped.npz", **rows, **{f"pictures{k}": np.stack([a for _, a in v]) for k, v in enumerate(groups.values())})


def measured(item):
    """Whether a picture is ever measured in its own shape; made-up frames are not."""
    return item["source"] in ("youcook2", "step_pictures") or (item["source"] == "flickr8k" and item["split"] == "test")


def embed_texts(texts, pack):
    """all-mpnet-base-v2: mean of the last layer over the words, unit length."""
    import torch
    from safetensors.torch import load_file
    from tokenizers import Tokenizer
    from transformers import MPNetConfig, MPNetModel
    config = MPNetConfig(**{k: v for k, v in json.load(open(pack / "config.json")).items() if not k.startswith(("_", "arch", "transf", "model_type"))})
    model = MPNetModel(config, add_pooling_layer=False)
    state = {}
    for path in sorted(pack.glob("mpnet*.safetensors")):
        state.update({k.removeprefix("mpnet."): v.float() for k, v in load_file(path).items()})
    missing = [k for k in model.load_state_dict(state, strict=False).missing_keys if "position_ids" not in k]
    assert not missing, missing
    model = model.to(DEV).float().eval()
    tok = Tokenizer.from_file(str(pack / "tokenizer.json"))
    tok.enable_truncation(128)
    tok.enable_padding(pad_id=1, pad_token="<pad>")
    order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
    out = np.zeros((len(texts), 768), np.float32)
    for s in range(0, len(order), 1024):
        rows = order[s:s + 1024]
        enc = tok.encode_batch([texts[i] for i in rows])
        ids = torch.tensor([e.ids for e in enc]).to(DEV)
        mask = torch.tensor([e.attention_mask for e in enc]).to(DEV)
        with torch.no_grad():
            y = model(input_ids=ids, attention_mask=mask).last_hidden_state.float()
        y = (y * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)
        out[rows] = torch.nn.functional.normalize(y, dim=1).cpu().numpy()
    return out


def class_names():
    from torchvision.models._meta import _IMAGENET_CATEGORIES
    return [f"a photo of a {n}" for n in _IMAGENET_CATEGORIES]


def phrase_list():
    """Phrases and the class each belongs to."""
    from phrases import PHRASES
    from torchvision.models._meta import _IMAGENET_CATEGORIES
    return [(line, c) for c, name in enumerate(_IMAGENET_CATEGORIES) for line in PHRASES.get(name, [])]


def all_texts(meta):
    """The pack's texts, then the class names, then the phrases."""
    return meta["texts"] + class_names() + [line for line, _ in phrase_list()]


def cache_features(work, pack, small, model):
    """Pooled features of an untouched tower for each picture as it is, and its ImageNet scores."""
    import torch
    from safetensors.torch import load_file
    from towers import Lite
    weights = load_file(pack / f"{model}.safetensors")
    net = Lite(weights).freeze(99).to(DEV).eval().to(memory_format=torch.channels_last)
    fc, bias = weights["_fc.weight"].float().to(DEV), weights["_fc.bias"].float().to(DEV)
    feats, logits = [], []
    with torch.no_grad():
        for s in range(0, len(small), 512):
            x = torch.from_numpy(np.array(small[s:s + 512])).to(DEV).permute(0, 3, 1, 2)
            clean = net(normalise(x.float()))
            feats.append(clean.half())
            logits.append((clean @ fc.T + bias).half())
    feats, logits = torch.cat(feats).cpu(), torch.cat(logits).cpu()
    torch.save((feats, logits), work / f"{model}.pt")
    return logits


def do_decode(pack, work):
    started = time.time()
    meta = json.load(open(pack / "pack.json"))
    decode_all(meta["items"], pack, work)
    json.dump(meta, open(work / "items.json", "w"))
    print("decoded", len(meta["items"]), f"{time.time()-started:.1f}s", flush=True)


def do_embed(pack, work):
    """Vectors of all texts."""
    started = time.time()
    texts = all_texts(json.load(open(pack / "pack.json")))
    emb = embed_texts(texts, pack)
    assert np.isfinite(emb).all(), "the text embeddings are broken"
    np.save(work / "texts.npy", emb)
    print("embedded", len(texts), f"{time.time()-started:.1f}s", flush=True)


def do_features(pack, work):
    started = time.time()
    small = np.load(work / "small.npy", mmap_mode="r")
    meta, names = json.load(open(work / "items.json")), class_names()
    for model in MODELS:
        logits = cache_features(work, pack, small, model)
        for n in range(0, len(meta["items"]), 4000):
            print("  ", meta["texts"][meta["items"][n]["main"]][:50], "->", names[int(logits[n].argmax())])
        print(model, f"{time.time()-started:.1f}s", flush=True)


# ---------------------------------------------------------------- pictures

def normalise(x):
    return ((x - 127.0) / 128.0).contiguous()


def augment(x, cfg, aspect=None):
    """Random crop, flip, small turn, light and colour, on the GPU; bytes in, normalised floats out.

    With the pictures' aspects given, things keep their shape: crops are near squares of the picture as it was.
    """
    import torch
    import torch.nn.functional as F
    n, dev = len(x), x.device
    u = lambda lo, hi, *shape: torch.rand(n, *shape, device=dev) * (hi - lo) + lo
    area, ratio = u(cfg["crop"], 1.0), torch.exp(u(math.log(0.75), math.log(4 / 3)))
    if aspect is not None:
        ratio = ratio / aspect
        area = area * torch.minimum(ratio, 1 / ratio)  # of the largest crop of that shape
    w, h = (area * ratio).sqrt().clamp(max=1), (area / ratio).sqrt().clamp(max=1)
    cx, cy = u(-1, 1) * (1 - w), u(-1, 1) * (1 - h)
    flip = torch.where(u(0, 1) < 0.5, -1.0, 1.0)
    turn = u(-0.17, 0.17) * (u(0, 1) < 0.3)
    cos, sin = turn.cos(), turn.sin()
    theta = torch.stack([torch.stack([w * flip * cos, -w * sin, cx], 1), torch.stack([h * flip * sin, h * cos, cy], 1)], 1)
    grid = F.affine_grid(theta, (n, 3, cfg["size"], cfg["size"]), align_corners=False)
    y = F.grid_sample(x.float(), grid, mode="bilinear", padding_mode="reflection", align_corners=False)
    grey = y.mean(1, keepdim=True)
    sat = torch.where(u(0, 1, 1, 1, 1) < 0.05, torch.zeros(n, 1, 1, 1, device=dev), u(0.6, 1.4, 1, 1, 1))
    y = grey + (y - grey) * sat
    mean = y.mean((1, 2, 3), keepdim=True)
    y = (mean + (y - mean) * u(0.7, 1.3, 1, 1, 1)) * u(0.7, 1.3, 1, 1, 1) * u(0.94, 1.06, 3, 1, 1)
    soft = F.avg_pool2d(F.pad(y, (1, 1, 1, 1), mode="replicate"), 3, 1)
    y = torch.where(u(0, 1, 1, 1, 1) < 0.15, soft, y)
    return normalise(y.clamp(0, 255))


def paste(x, partner, share):
    """A rectangle of the partner, of the given share of the area, over each picture."""
    import torch
    n, size, dev = len(x), x.shape[-1], x.device
    side = share.sqrt() * size
    left, top = torch.rand(n, device=dev) * (size - side), torch.rand(n, device=dev) * (size - side)
    line = torch.arange(size, device=dev)
    across = (line >= left[:, None]) & (line < (left + side)[:, None])
    down = (line >= top[:, None]) & (line < (top + side)[:, None])
    inside = (down[:, :, None] & across[:, None, :])[:, None]
    return torch.where(inside, partner, x)


def views(data, drawn, cfg, rng):
    """A new view of every picture, a share of them in the picture's own shape; rows of the pack in, network input out."""
    import torch
    order = rng.permutation(len(drawn))
    first = round(cfg["own"] * len(drawn))
    big, wide, aspect = data.pictures()
    x = torch.empty(len(drawn), 3, cfg["size"], cfg["size"], dtype=torch.bfloat16, device=DEV, memory_format=torch.channels_last)
    for places, pictures, shape in ((order[:first], wide, aspect), (order[first:], big, None)):
        if len(places):
            rows = torch.from_numpy(drawn[places]).to(DEV)
            x[torch.from_numpy(places).to(DEV)] = augment(pictures[rows], cfg, None if shape is None else shape[rows]).to(torch.bfloat16)
    return x


# ---------------------------------------------------------------- the data on the GPU

class Data:
    """Everything a worker needs, loaded once."""

    def __init__(self, work):
        import torch
        meta = json.load(open(work / "items.json"))
        self.items, self.text_list = meta["items"], meta["texts"]
        self.work = work
        self.emb = torch.from_numpy(np.load(work / "texts.npy")).to(DEV)
        start = len(self.text_list)
        self.classes = torch.arange(start, start + 1000, device=DEV)
        self.phrases = torch.arange(start + 1000, len(self.emb), device=DEV)
        owners = [c for _, c in phrase_list()]
        self.owner = torch.tensor(owners).to(DEV)
        self.owner_share = 1.0 / torch.bincount(self.owner, minlength=1000)[self.owner].float()
        self.slots = torch.tensor([i["slots"] for i in self.items]).to(DEV)
        self.main = torch.tensor([i["main"] for i in self.items]).to(DEV)
        names = {}
        number = lambda key: names.setdefault(key, len(names))
        self.label = np.array([number(i["label"]) if i["label"] else number(("one", n)) for n, i in enumerate(self.items)])
        self.label_gpu = torch.from_numpy(self.label).to(DEV)
        states = {}
        self.state = torch.tensor([states.setdefault(i["state"], len(states)) if i.get("state") else -1 for i in self.items]).to(DEV)
        self.group = np.array([number(("g", i["group"])) if i["group"] else -1 for i in self.items])
        self.group_gpu = torch.from_numpy(self.group).to(DEV)
        self.kind = np.array([i["kind"] for i in self.items])
        self.stepish = np.isin(self.kind, ["state", "video", "step", "world"])
        self.fold = np.array([i.get("fold", -1) for i in self.items])
        self.split = np.array([i["split"] for i in self.items])
        self.source = np.array([i["source"] for i in self.items])
        self.domain = np.array([i.get("domain", "") for i in self.items])
        self.features, self.arrays, self.shapes = {}, None, None
        self.mu, self.sd = self.emb[:len(self.text_list)].mean(0), self.emb[:len(self.text_list)].std(0).clamp(min=1e-3)

    def bank(self, model):
        """Features and ImageNet scores of the untouched tower."""
        import torch
        if model not in self.features:
            self.features[model] = [x.to(DEV) for x in torch.load(self.work / f"{model}.pt")]
        return self.features[model]

    def pictures(self):
        """All pictures, squashed to a square and wide, and their shapes."""
        import torch
        if self.arrays is None:
            load = lambda name: torch.from_numpy(np.load(self.work / f"{name}.npy")).to(DEV)
            self.arrays = load("big").permute(0, 3, 1, 2), load("wide").permute(0, 3, 1, 2), load("aspect")
        return self.arrays

    def sized(self, rows, size):
        """Pictures at the size they are measured at; what lies beyond 256 is enlarged."""
        import torch
        import torch.nn.functional as F
        array = np.load(self.work / ("small.npy" if size == 224 else "big.npy"), mmap_mode="r")
        x = torch.from_numpy(array[np.asarray(rows)]).to(DEV).permute(0, 3, 1, 2).float()
        return x if size <= 256 else F.interpolate(x, size=(size, size), mode="bilinear", align_corners=False)

    def shaped(self, rows):
        """Pictures in their own shape: places in `rows` and a batch, one shape after another."""
        import torch
        if self.shapes is None:
            file = np.load(self.work / "shaped.npz")
            self.shapes = [(file[f"rows{k}"], file[f"pictures{k}"]) for k in range(len(file.files) // 2)]
        where = {r: n for n, r in enumerate(rows)}
        for numbers, pictures in self.shapes:
            mine = [k for k, r in enumerate(numbers) if r in where]
            for s in range(0, len(mine), 256):
                part = mine[s:s + 256]
                yield [where[numbers[k]] for k in part], torch.from_numpy(pictures[part]).to(DEV).permute(0, 3, 1, 2).float()

    def test(self, source):
        return np.flatnonzero((self.source == source) & (self.split == "test"))

    def held(self, cfg):
        """True for what this fold is measured on."""
        if cfg["full"] and cfg["steps_fold"] is None:
            return (self.source == "world") & (self.split == "test")
        photograph = self.source == "step_pictures"
        wanted = np.where(photograph, cfg["fold"] if cfg["steps_fold"] is None else cfg["steps_fold"], cfg["fold"])
        mine = (self.fold >= 0) & (self.fold % cfg["folds"] == wanted) & (photograph | (not cfg["full"])) & (self.source != "world")
        return mine | ((self.source == "world") & (self.split == "test"))


class Sampler:
    """Draws batches: so many of each kind, steps and videos by group so that pictures of one video meet."""

    def __init__(self, data, cfg, rng):
        self.rng, self.cfg, self.data = rng, cfg, data
        held = data.held(cfg)
        usable = ~held & ~((data.source == "flickr8k") & (data.split == "test")) & ~((data.kind == "state") & (data.split == "test"))
        if not cfg["youcook"]:
            usable &= data.source != "youcook2"
        self.flat = {k: np.flatnonzero(usable & (data.kind == k)) for k in ("caption", "state", "label")}
        self.groups = {}
        for kind in ("video", "step", "world"):
            by = {}
            for i in np.flatnonzero(usable & (data.kind == kind)):
                by.setdefault(data.group[i], []).append(i)
            rows = [np.array(v) for v in by.values()]
            weight = np.array([math.sqrt(len(r)) for r in rows])
            self.groups[kind] = (rows, weight / weight.sum() if len(rows) else weight)

    def draw(self):
        parts = []
        for kind in ("caption", "state", "label"):
            pool, count = self.flat[kind], self.cfg["batch"][kind]
            if len(pool) and count:
                parts.append(self.rng.choice(pool, count, replace=len(pool) < count))
        for kind, images in (("video", 3 * self.cfg["batch"]["video"]), ("step", self.cfg["batch"]["step"]), ("world", self.cfg["batch"]["world"])):
            rows, weight = self.groups[kind]
            if len(rows) and images:
                parts.append(self.of_groups(rows, weight, images))
        return np.concatenate(parts)

    def of_groups(self, rows, weight, images):
        picked, total = [], 0
        for g in self.rng.choice(len(rows), min(len(rows), images), replace=False, p=weight):
            take = self.rng.permutation(rows[g])[:3]
            picked.append(take)
            total += len(take)
            if total >= images:
                break
        return np.concatenate(picked)[:images]


# ---------------------------------------------------------------- losses

def losses(z, t, scale, rows, base, data, cfg, target_mix=None):
    import torch
    import torch.nn.functional as F
    label, state = data.label_gpu[rows], data.state[rows]
    group = data.group_gpu[rows]
    sim = base @ base.T
    positive = label[:, None] == label[None]
    same_state = (state[:, None] == state[None]) & (state >= 0)[:, None]
    ignored = ~positive & (same_state | (sim > cfg["ignore"]))
    logits = scale * (z @ t.T)
    masked = logits.masked_fill(ignored, -1e4)
    target = positive.float()
    target = target / target.sum(1, keepdim=True)
    if target_mix is not None:
        share, perm = target_mix
        target = (1 - share)[:, None] * target + share[:, None] * target[perm]
        target = target * ~ignored
        target = target / target.sum(1, keepdim=True).clamp(min=1e-6)
    back = target.T / target.sum(0)[:, None].clamp(min=1e-6)
    nce = -(target * F.log_softmax(masked, 1)).sum(1).mean() - (back * F.log_softmax(masked.T, 1)).sum(1).mean()
    total = nce / 2
    if cfg["soft"]:
        s = F.softmax(sim / 0.1, 1)
        kl = -(s * F.log_softmax(logits, 1)).sum(1).mean() - (s * F.log_softmax(logits.T, 1)).sum(1).mean()
        total = total + cfg["soft"] * kl / 2
    if cfg["invideo"]:
        eye = torch.eye(len(z), dtype=torch.bool, device=z.device)
        near = (group[:, None] == group[None]) & (group >= 0)[:, None] & (~positive | eye)
        rows_ok = near.sum(1) > 1
        here = logits.masked_fill(~near & ~eye, -1e4)
        place = torch.arange(len(z), device=z.device)
        both = F.cross_entropy(here, place, reduction="none") + F.cross_entropy(here.T, place, reduction="none")
        total = total + cfg["invideo"] * (both * rows_ok).sum() / rows_ok.sum().clamp(min=1) / 2
    return total


# ---------------------------------------------------------------- one training

def schedule(step, cfg):
    """Warm-up, then a cosine that reaches nothing at the last step."""
    if step < cfg["warmup"]:
        return (step + 1) / cfg["warmup"]
    return 0.5 * (1 + math.cos(math.pi * (step - cfg["warmup"]) / max(1, cfg["steps"] - cfg["warmup"])))


def build(cfg, data):
    import torch
    from safetensors.torch import load_file
    from towers import Head, Lite
    clean = data.bank(cfg["model"])[0].float()
    mean, std = clean.mean(0), clean.std(0).clamp(min=0.02)
    centred = (data.emb[:len(data.text_list)] - data.mu) / data.sd
    val, vec = torch.linalg.eigh(centred.T @ centred / len(centred))
    val, vec = val.flip(0)[:cfg["dim"]], vec.flip(1)[:, :cfg["dim"]]
    pca = (vec * val.clamp(min=1e-6) ** (-cfg["white"])).T
    head = lambda mean, std, drop_in, seed, pca=None: Head(mean.cpu(), std.cpu(), cfg["dim"], cfg["hidden"], cfg["dropout"], drop_in, 2 * cfg["seed"] + seed, pca).to(DEV)
    image, text = head(mean, std, cfg["drop_in"], 0), head(data.mu, data.sd, cfg["text_drop"], 1, pca.cpu())
    net = Lite(load_file(data.work / ".." / "pack" / f"{cfg['model']}.safetensors"), cfg["drop_path"]).freeze(cfg["frozen"]).to(DEV)
    return net.to(memory_format=torch.channels_last), image, text


def train_once(cfg, data, seed):
    import torch
    import torch.nn as nn
    from safetensors.torch import load_file
    torch.manual_seed(seed * 1000 + cfg["fold"])
    rng = np.random.default_rng(seed * 1000 + cfg["fold"])
    start = load_file(data.work / "results" / f"{cfg['init']}.safetensors") if cfg["init"] else None
    net, image, text = load_state(cfg, data, start) if start else build(cfg, data)
    scale = nn.Parameter(start["scale"].to(DEV) if start else torch.tensor(math.log(1 / 0.07), device=DEV))
    teacher = data.bank(cfg["model"])[1]
    params = [
        dict(params=list(image.parameters()) + list(text.parameters()), lr=cfg["lr"], weight_decay=cfg["decay"]),
        dict(params=[scale], lr=cfg["lr"] * cfg["scale_lr"], weight_decay=0.0),
        dict(params=[p for p in net.parameters() if p.requires_grad], lr=cfg["backbone_lr"], weight_decay=cfg["decay"]),
    ]
    opt = torch.optim.AdamW(params, betas=(0.9, 0.98))
    base_lr = [g["lr"] for g in opt.param_groups]
    every = [p for g in opt.param_groups for p in g["params"]]
    ema = [p.detach().clone() for p in every]
    sampler = Sampler(data, cfg, rng)
    for m in (net, image, text):
        m.train()
    began, curve = time.time(), []
    for step in range(cfg["steps"]):
        rate = schedule(step, cfg)
        for g, lr in zip(opt.param_groups, base_lr):
            g["lr"] = lr * rate
        drawn = sampler.draw()
        rows = torch.from_numpy(drawn).to(DEV)
        mixing = None
        if cfg["mix"]:
            stepish = torch.from_numpy(data.stepish[drawn]).to(DEV)
            places = torch.from_numpy(np.flatnonzero(data.stepish[drawn])).to(DEV)
            perm = torch.arange(len(rows), device=DEV)
            perm[places] = places[torch.randperm(len(places), device=DEV)]
            share = torch.rand(len(rows), device=DEV) * 0.4 * (torch.rand(len(rows), device=DEV) < cfg["mix"]) * stepish
            mixing = (share, perm)
        with torch.no_grad():
            x = views(data, drawn, cfg, rng)
            if mixing:
                x = paste(x, x[mixing[1]], mixing[0])
            x = x.contiguous(memory_format=torch.channels_last)
        feats = net(x)
        choice = data.slots[rows, torch.randint(data.slots.shape[1], (len(rows),), device=DEV)]
        base = data.emb[choice]
        z, t = image(feats), text(base)
        s = scale.exp().clamp(max=cfg["scale_max"])
        loss = losses(z, t, s, rows, base, data, cfg, mixing)
        if cfg["distil"]:
            guess = s * (z @ text(data.emb[data.classes]).T)
            want = torch.softmax(teacher[rows].float(), 1)
            loss = loss - cfg["distil"] * (want * torch.log_softmax(guess, 1)).sum(1).mean()
        if cfg["phrases"]:
            want = torch.softmax(teacher[rows].float(), 1)[:, data.owner] * data.owner_share
            guess = s * (z @ text(data.emb[data.phrases]).T)
            loss = loss - cfg["phrases"] * (want * torch.log_softmax(guess, 1)).sum(1).mean()
        if step == 0:
            for what, tensor in (("features", feats), ("base", base), ("image", z), ("text", t), ("loss", loss)):
                if not torch.isfinite(tensor).all():
                    raise ArithmeticError(f"{what} is not finite at the first step")
        opt.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(every, cfg["clip"])
        opt.step()
        with torch.no_grad():
            torch._foreach_lerp_(ema, [p.detach() for p in every], 1 - min(cfg["ema"], (1 + step) / (10 + step)))
        if step % 50 == 0 or step == cfg["steps"] - 1:
            curve.append(round(loss.item(), 3))
    state = modules_state(net, image, text, every, ema)
    state["scale"] = scale.detach().clone()
    return state, dict(seconds=time.time() - began, curve=curve, scale=s.item())


def modules_state(net, image, text, every, ema):
    """The averaged weights, put into the modules, as one flat dictionary."""
    import torch
    with torch.no_grad():
        for p, e in zip(every, ema):
            p.copy_(e)
    state = {}
    for name, m in (("net", net), ("image", image), ("text", text)):
        state.update({f"{name}.{k}": v.detach().clone() for k, v in m.state_dict().items()})
    return state


def load_state(cfg, data, state):
    net, image, text = build(cfg, data)
    for name, m in (("net", net), ("image", image), ("text", text)):
        mine = {k[len(name) + 1:]: v for k, v in state.items() if k.startswith(name + ".")}
        m.load_state_dict(mine)
        m.eval()
    return net, image, text


# ---------------------------------------------------------------- measuring

class Encoder:
    """A trained model as it is measured. A look is a size, or `own` for the picture's own shape; an f behind it flips; looks joined by + are averaged."""

    def __init__(self, cfg, data, state):
        self.data, self.towers, self.dim, self.seen = data, load_state(cfg, data, state), cfg["dim"], {}

    def pictures(self, rows, look="256"):
        mean = sum(self.once(rows, part) for part in look.split("+"))
        return mean / np.linalg.norm(mean, axis=1, keepdims=True)

    def once(self, rows, look):
        """Features by one look, remembered."""
        import torch
        key = look, rows.tobytes()
        if key not in self.seen:
            net, image, _ = self.towers
            kind, flip = look.rstrip("f"), look.endswith("f")
            out = np.zeros((len(rows), self.dim), np.float32)
            at = np.arange(len(rows))
            batches = self.data.shaped(rows) if kind == "own" else ((at[s:s + 256], self.data.sized(rows[s:s + 256], int(kind))) for s in range(0, len(rows), 256))
            with torch.no_grad():
                for places, x in batches:
                    x = normalise(x.flip(3) if flip else x).contiguous(memory_format=torch.channels_last)
                    out[places] = image(net(x)).cpu().numpy()
            self.seen[key] = out
        return self.seen[key]

    def texts(self, ids):
        import torch
        with torch.no_grad():
            return np.concatenate([self.towers[2](self.data.emb[part]).cpu().numpy() for part in torch.as_tensor(ids).to(DEV).split(2048)])


def unseen_frames(cfg, data):
    """YouCook2 frames a job has not learnt from."""
    return np.flatnonzero((data.source == "youcook2") & (data.held(cfg) | (not cfg["youcook"])))


def measure(cfg, data, encoder, look="256"):
    import measure as m
    pictures_of = lambda rows: encoder.pictures(rows, look)
    texts_of = encoder.texts
    out = {}
    main = data.main.cpu().numpy()
    held = data.held(cfg)
    video = unseen_frames(cfg, data)
    if len(video):
        folds = [video] if cfg["youcook"] else [video[data.fold[video] % cfg["folds"] == f] for f in range(cfg["folds"])]
        hits, found, back = [], [], []
        for rows in folds:
            z, t = pictures_of(rows), texts_of(main[rows])
            groups = {}
            for i, r in enumerate(rows):
                groups.setdefault(data.group[r], []).append(i)
            hits.append(m.order(z, t, list(groups.values())))
            own = [[i] for i in range(len(rows))]
            found.append(m.ranks(t, z, own))
            back.append(m.ranks(z, t, own))
        hits = np.concatenate(hits)
        out["yc2"] = dict(greedy=100 * hits[:, 0].mean(), optimal=100 * hits[:, 1].mean(), videos=len(hits), hits=int(hits[:, 1].sum()),
                          each="".join(str(int(h)) for h in hits[:, 1]),
                          ranks=[int(r) for r in np.concatenate(found)], **m.recalls(np.concatenate(found)), back=m.recalls(np.concatenate(back)))
    steps = np.flatnonzero((data.source == "step_pictures") & (data.kind == "step") & held)
    if len(steps):
        z, t = pictures_of(steps), texts_of(main[steps])
        right = [np.flatnonzero(data.label[steps] == data.label[s]) for s in steps]
        found = m.ranks(t, z, right)
        out["steps"] = {**m.recalls(found), "ranks": [int(r) for r in found]}
        for d in ("cooking", "woodworking", "gardening", "other"):
            mine = data.domain[steps] == d
            if mine.any():
                out["steps"][d] = m.recalls(found[mine])
        runs = m.triples(data.group[steps], data.label[steps])
        hits = m.order(z, t, runs)
        out["steps"].update(optimal=100 * hits[:, 1].mean(), triples=len(runs), hits=int(hits[:, 1].sum()))
        place = {d: [k for k, r in enumerate(runs) if data.domain[steps[r[0]]] == d] for d in ("cooking", "woodworking", "gardening", "other")}
        out["steps"]["by"] = {d: [int(hits[v, 1].sum()), len(v)] for d, v in place.items()}
    test = data.test("flickr8k")
    if len(test):
        z = pictures_of(test)
        ids = [c for r in test for c in data.items[r]["captions"]]
        t = texts_of(ids)
        out["flickr"] = m.recalls(m.ranks(t, z, [[i // 5] for i in range(len(ids))]))
        out["flickr"]["back_r1"] = m.recalls(m.ranks(z, t, [list(range(5 * i, 5 * i + 5)) for i in range(len(test))]))["r1"]
    world = data.test("world")
    if len(world) and "own" not in look:
        z, t = pictures_of(world), texts_of(main[world])
        out["world"] = {}
        for d in sorted(set(data.domain[world])):
            mine = np.flatnonzero(data.domain[world] == d)
            right = [np.flatnonzero(data.label[world[mine]] == data.label[world[i]]) for i in mine]
            out["world"][d] = m.recalls(m.ranks(t[mine], z[mine], right))
        runs = m.triples(data.group[world], data.label[world])
        out["world"]["order3"] = 100 * m.order(z, t, runs)[:, 1].mean()
        groups = {}
        for i, r in enumerate(world):
            groups.setdefault(data.group[r], []).append(i)
        right = []
        for rows in groups.values():  # the right clip of each step among all frames of its own video
            lab = data.label[world[rows]]
            best = (t[rows] @ z[rows].T).argmax(1)
            right += list(lab[best] == lab)
        out["world"]["clip_in_video"] = 100 * float(np.mean(right))
    return out


def filled(cfg):
    return {**DEFAULTS, **cfg, "batch": {**DEFAULTS["batch"], **cfg.get("batch", {})}}


def keep_state(data, name, state):
    """Matrices in 16 bits, as they ship; returns what a reader of the file gets."""
    from safetensors.torch import load_file, save_file
    path = data.work / "results" / f"{name}.safetensors"
    half = {k: (v.half() if v.ndim > 1 else v.float()).contiguous().cpu() for k, v in state.items()}
    save_file(half, str(path) + ".tmp")
    os.rename(str(path) + ".tmp", path)
    return load_file(path)


def run_job(cfg, data):
    """One training, or the mean of the weights of several jobs; measured as it is stored, features of unseen frames and photographs kept."""
    from safetensors.torch import load_file
    began = time.time()
    if "soup" in cfg:
        like = json.loads((data.work / "results" / f"{cfg['soup'][-1]}.json").read_text())["cfg"]
        cfg = filled({**like, **cfg})
        states = [load_file(data.work / "results" / f"{n}.safetensors") for n in cfg["soup"]]
        shares = cfg.get("shares", [1 / len(states)] * len(states))
        state, info = {k: sum(w * s[k].float() for w, s in zip(shares, states)) for k in states[0]}, {"curve": [0, 0]}
    else:
        cfg = filled(cfg)
        state, info = train_once(cfg, data, cfg["seed"])
    out = {"cfg": {k: v for k, v in cfg.items() if v != DEFAULTS.get(k)}, "info": info}
    encoder = Encoder(cfg, data, keep_state(data, cfg["name"], state))
    for look in cfg["looks"]:
        out["final" if look == "256" else look] = measure(cfg, data, encoder, look)
    if cfg["looks"]:
        keep_features(cfg, data, encoder)
    out["seconds"] = time.time() - began
    return out


def keep_features(cfg, data, encoder):
    """Features of pictures a job has not learnt from, look by look, and of their texts; pairs of jobs are measured by them."""
    photographs = np.flatnonzero((data.source == "step_pictures") & (data.kind == "step") & data.held(cfg))
    sets = dict(frames=unseen_frames(cfg, data), photographs=photographs, flickr=data.test("flickr8k"), world=data.test("world"))
    looks, main, kept = sorted({part for look in cfg["looks"] for part in look.split("+")}), data.main.cpu().numpy(), {}
    for name, rows in sets.items():
        if len(rows):
            ids = [c for r in rows for c in data.items[r]["captions"]] if name == "flickr" else main[rows]
            kept |= {name: rows, f"{name}_text": encoder.texts(ids).astype(np.float16)}
            kept |= {f"{name}_{look}": encoder.once(rows, look).astype(np.float16) for look in looks if name != "world" or "own" not in look}
    np.savez(data.work / "results" / f"{cfg['name']}.npz", **kept)


def load_encoder(data, name):
    from safetensors.torch import load_file
    cfg = filled(json.loads((data.work / "results" / f"{name}.json").read_text())["cfg"])
    return Encoder(cfg, data, load_file(data.work / "results" / f"{name}.safetensors"))


def do_check(work, names):
    """Pictures and what each trained model makes of them, for export.py to prove itself by."""
    data = Data(work)
    rows = np.flatnonzero(data.source == "youcook2")[:16]
    out = dict(rows=rows, pictures=data.sized(rows, 224).cpu().numpy().astype(np.uint8), embeddings=data.emb[data.main[rows]].cpu().numpy())
    for n, name in enumerate(names, 1):
        encoder = load_encoder(data, name)
        out |= {f"image{n}": encoder.pictures(rows, "224"), f"text{n}": encoder.texts(data.main.cpu().numpy()[rows])}
    np.savez(work / "results" / "check.npz", **out)


def do_unseen(work, names, shipped, out):
    """Features of every YouCook2 frame and text by the pair that has not seen it, and by the shipped one, at 256 px.

    Features of Flickr8k pictures and texts by every pair come along, to fit maps between the spaces by.
    """
    data = Data(work)
    main = data.main.cpu().numpy()
    video = np.flatnonzero(data.source == "youcook2")
    flickr = np.flatnonzero((data.source == "flickr8k") & (data.split == "train"))[:1000]
    arrays = dict(video=video, fold=data.fold[video] % len(names), flickr=flickr, group=np.array([data.items[n]["group"] for n in video]),
                  text=np.array([data.text_list[n] for n in main[video]]))
    for n, pair in enumerate(names + [shipped]):
        encoders = [load_encoder(data, name) for name in pair.split("+")]
        beside = lambda parts: (np.concatenate(parts, 1) / len(parts) ** 0.5).astype(np.float16)
        key = f"fold{n}" if n < len(names) else "shipped"
        for what, rows in (("video", video), ("flickr", flickr)):
            arrays[f"{key}_{what}_image"] = beside([e.pictures(rows) for e in encoders])
            arrays[f"{key}_{what}_text"] = beside([e.texts(main[rows]) for e in encoders])
    np.savez(out, **arrays)


def brief(name, out):
    f = out.get("final", {})
    bits = [f"{name:28s} {out['seconds']:5.0f}s loss {out['info']['curve'][0]}>{out['info']['curve'][-1]}"]
    if "yc2" in f:
        bits.append("yc2 {greedy:.1f}/{optimal:.1f} r10 {r10:.1f} med {medr:.0f}".format(**f["yc2"]))
    if "steps" in f:
        bits.append("steps r10 {r10:.1f} ord {optimal:.1f}".format(**f["steps"]))
    if "flickr" in f:
        bits.append("fl {r1:.1f}/{r10:.1f} back {back_r1:.1f}".format(**f["flickr"]))
    if "world" in f:
        bits.append("world ord {order3:.1f} clip {clip_in_video:.1f}".format(**f["world"]))
    return " | ".join(bits)


def ready(work, path):
    """Whether everything a job starts from is there."""
    try:
        cfg = json.loads(path.read_text())
    except (FileNotFoundError, json.JSONDecodeError):
        return False
    needs = cfg.get("soup", []) + [n for n in [cfg.get("init")] if n]
    return all((work / "results" / f"{n}.json").exists() for n in needs)


def worker(work, number):
    import torch
    torch.backends.cudnn.benchmark = False
    torch.backends.cuda.matmul.allow_tf32 = True
    torch.set_num_threads(2)
    data = Data(work)
    jobs, results = work / "jobs", work / "results"
    while not (work / "stop").exists():
        waiting = next((p for p in sorted(jobs.glob("*.json")) if ready(work, p)), None)
        if waiting is None:
            time.sleep(0.3)
            continue
        mine = waiting.with_suffix(f".taken{number}")
        try:
            os.rename(waiting, mine)
        except FileNotFoundError:
            continue
        name = waiting.stem
        try:
            cfg = {**json.loads(mine.read_text()), "name": name}
            out = run_job(cfg, data)
            (results / f"{name}.json.tmp").write_text(json.dumps(out))
            os.rename(results / f"{name}.json.tmp", results / f"{name}.json")
            line = brief(name, out)
        except Exception:
            line = f"{name} FAILED {traceback.format_exc()}"
        torch.cuda.empty_cache()
        with open(work / "log.txt", "a") as log:
            log.write(line + "\n")


def serve(work, workers):
    """Workers take job files in the order of their names, as soon as what they start from is there, until told to stop."""
    (work / "jobs").mkdir(exist_ok=True)
    (work / "results").mkdir(exist_ok=True)
    ctx = multiprocessing.get_context("spawn")
    ps = [ctx.Process(target=worker, args=(work, n)) for n in range(workers)]
    for p in ps:
        p.start()
    for p in ps:
        p.join()


def main():
    args = argparse.ArgumentParser()
    args.add_argument("verb", choices=["decode", "embed", "features", "serve", "check", "unseen"])
    args.add_argument("--pack", type=pathlib.Path)
    args.add_argument("--work", type=pathlib.Path, required=True)
    args.add_argument("--workers", type=int, default=4)
    args.add_argument("--names", default="", help="unseen: the folds' pairs, then the shipped one; check: the shipped two")
    args.add_argument("--out", type=pathlib.Path)
    args = args.parse_args()
    args.work.mkdir(parents=True, exist_ok=True)
    names = args.names.split(",")
    if args.verb == "decode":
        do_decode(args.pack, args.work)
    elif args.verb == "embed":
        do_embed(args.pack, args.work)
    elif args.verb == "features":
        do_features(args.pack, args.work)
    elif args.verb == "check":
        do_check(args.work, names)
    elif args.verb == "unseen":
        do_unseen(args.work, names[:-1], names[-1], args.out)
    else:
        serve(args.work, args.workers)


if __name__ == "__main__":
    main()
