"""Training of the two towers, one job or many on one GPU.

    python train.py decode   --pack PACK --work WORK         pictures to arrays of bytes
    python train.py embed    --pack PACK --work WORK         texts to embeddings
    python train.py features --pack PACK --work WORK         pooled features and scores of the untouched tower
    python train.py serve    --pack PACK --work WORK --workers 6   run the job files in WORK/jobs, results to WORK/results, until WORK/stop is there
    python train.py check    --work WORK --names NAME        what export.py proves itself by
    python train.py unseen   --work WORK --names F0,F1,F2,FULL --out FILE   features of every frame by a model that never saw it

A job is a JSON object of the settings in DEFAULTS that differ, or {"soup": [names]}: the mean of those jobs' weights,
or {"ensemble": [names]}: the mean of those models' similarities, which measures what there is to distil.
See README.md for the jobs behind the table.
"""
import argparse
import itertools
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
    name="job", model="lite2", frozen=7, fold=0, folds=3, youcook=True, steps_data=True, world=False, full=False,
    steps_fold=None, init=None, needs=[], text_frozen=False, depthwise=True, by_recipe=False,
    seed=0, head_seed=0, steps=400, warmup=40, lr=1e-3, text_lr=1.0, backbone_lr=4e-4, decay=0.05, head_decay=0.05,
    ema=0.99, clip=5.0, size=224, crop=0.35, mix=0.0, drop_path=0.1, sp=0.0,
    dropout=0.2, drop_in=0.2, text_drop=0.1, hidden=768, text_hidden=768, text_init="pca", white=0.5, text_noise=0.0, stored=True,
    words=0, others=0.0, near=0.0, aspect=False, teach=0.0, teachers=[],
    soft=0.2, invideo=0.5, whole=0.0, distil=0.1, phrases=0.0, ignore=0.9, scale_lr=1.0, scale_max=50.0, max_seconds=600,
    batch=dict(caption=224, state=80, label=40, video=32, step=72, world=0),
)
KINDS = ["caption", "state", "label", "video", "step", "world"]
SIZES = {"big": (256, 256), "small": (224, 224), "wide": (384, 256)}  # width, height
PLACES = 32  # words of a text that are looked at one by one


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


def embed_texts(texts, pack, words=None):
    """all-mpnet-base-v2: mean of the last layer over the words, unit length; the words themselves into `words` where it is given."""
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
        if words is not None:
            at = torch.tensor(rows).to(DEV)
            words[0][at, :min(PLACES, y.shape[1])] = y[:, :PLACES].half()
            words[1][at] = mask.sum(1).clamp(max=PLACES)
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


def cache_features(work, pack, name, small):
    """Pooled features of the untouched tower for each picture as it is, and its ImageNet scores."""
    import torch
    from safetensors.torch import load_file
    from towers import Lite
    weights = load_file(pack / f"{name}.safetensors")
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
    torch.save((feats, logits), work / f"{name}.pt")
    return logits


class Store:
    """Random views of every picture, taken through the part of the tower that stays as it is.

    The fixed blocks are the dear ones (large maps), so their work is done once. Steps are few and seen often: they get
    more views than captions.
    """

    def __init__(self, maps, first, count, start):
        self.maps, self.first, self.count, self.start = maps, first, count, start

    @staticmethod
    def make(work, pack, name, start, few, many, own_shape=False, seed=5):
        import torch
        from safetensors.torch import load_file
        from towers import Lite
        meta = json.load(open(work / "items.json"))
        used = [not (i["split"] == "test" and i["source"] in ("flickr8k", "world", "cooking_states")) for i in meta["items"]]
        count = torch.tensor([0 if not u else many if i["kind"] in ("video", "step") else few for i, u in zip(meta["items"], used)])
        first = torch.cumsum(count, 0) - count
        net = Lite(load_file(pack / f"{name}.safetensors"), 0.0).freeze(99).to(DEV).eval().to(memory_format=torch.channels_last)
        big = np.load(work / ("wide.npy" if own_shape else "big.npy"), mmap_mode="r")
        aspect = torch.from_numpy(np.load(work / "aspect.npy")).to(DEV)
        maps, at = None, 0
        torch.manual_seed(seed)
        for s in range(0, len(big), 256):
            rows = [n for n in range(s, min(s + 256, len(big))) if count[n]]
            if not rows:
                continue
            x = torch.from_numpy(big[rows]).to(DEV).permute(0, 3, 1, 2)
            x = x.repeat_interleave(count[rows].to(DEV), 0)
            shape = aspect[rows].repeat_interleave(count[rows].to(DEV), 0) if own_shape else None
            for k, part in enumerate(x.split(1024)):
                here = None if shape is None else shape[1024 * k:1024 * k + 1024]
                y = net.lower(augment(part, {**DEFAULTS, "crop": 0.4}, here).to(torch.bfloat16).contiguous(memory_format=torch.channels_last), start)
                y = y.permute(0, 2, 3, 1)
                if maps is None:
                    maps = torch.empty(int(count.sum()), *y.shape[1:], dtype=torch.bfloat16, device=DEV)
                maps[at:at + len(y)] = y
                at += len(y)
        return Store(maps, first.to(DEV), count.to(DEV), start)

    def draw(self, rows):
        import torch
        pick = (torch.rand(len(rows), device=DEV) * self.count[rows]).long()
        return self.maps[self.first[rows] + pick].permute(0, 3, 1, 2)

    @staticmethod
    def draw_either(one, other, rows):
        import torch
        return torch.where((torch.rand(len(rows), device=DEV) < 0.5)[:, None, None, None], one.draw(rows), other.draw(rows))


def do_decode(pack, work):
    started = time.time()
    meta = json.load(open(pack / "pack.json"))
    decode_all(meta["items"], pack, work)
    json.dump(meta, open(work / "items.json", "w"))
    print("decoded", len(meta["items"]), f"{time.time()-started:.1f}s", flush=True)


def do_embed(pack, work, keep_words):
    """Vectors of all texts, and for jobs that look at words those of the first words of each."""
    import torch
    started = time.time()
    texts = all_texts(json.load(open(pack / "pack.json")))
    words = None
    if keep_words:
        words = torch.zeros(len(texts), PLACES, 768, dtype=torch.float16, device=DEV), torch.zeros(len(texts), dtype=torch.long, device=DEV)
    emb = embed_texts(texts, pack, words)
    assert np.isfinite(emb).all(), "the text embeddings are broken"
    np.save(work / "texts.npy", emb)
    if words:
        torch.save([w.cpu() for w in words], work / "words.pt")
    print("embedded", len(texts), f"{time.time()-started:.1f}s", flush=True)


def do_features(pack, work, name):
    started = time.time()
    logits = cache_features(work, pack, name, np.load(work / "small.npy", mmap_mode="r"))
    meta, names = json.load(open(work / "items.json")), class_names()
    for n in range(0, len(meta["items"]), 4000):
        print("  ", meta["texts"][meta["items"][n]["main"]][:50], "->", names[int(logits[n].argmax())])
    print("features", name, f"{time.time()-started:.1f}s", flush=True)


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


# ---------------------------------------------------------------- the data on the GPU

def load_words(work):
    import torch
    return [w.to(DEV) for w in torch.load(work / "words.pt")] if (work / "words.pt").exists() else (None, None)


class Data:
    """Everything a worker needs, loaded once."""

    def __init__(self, work, stores=(None, None), words=None):
        import torch
        self.store, self.shaped_store = stores
        self.words, self.count = words or load_words(work)
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
        self.fold = np.array([i.get("fold", -1) for i in self.items])
        self.split = np.array([i["split"] for i in self.items])
        self.source = np.array([i["source"] for i in self.items])
        self.domain = np.array([i.get("domain", "") for i in self.items])
        self.recipe = np.array([i.get("recipe", "") for i in self.items])
        self.steps_of = {number(("g", g)): ids for g, ids in meta.get("steps", {}).items()}  # texts of all steps of a video
        self.features, self.big, self.shapes = {}, None, None
        self.mu, self.sd = self.emb[:len(self.text_list)].mean(0), self.emb[:len(self.text_list)].std(0).clamp(min=1e-3)

    def bank(self, name):
        """Features and ImageNet scores of the untouched tower."""
        import torch
        if name not in self.features:
            self.features[name] = [x.to(DEV) for x in torch.load(self.work / f"{name}.pt")]
        return self.features[name]

    def pictures(self):
        import torch
        if self.big is None:
            self.big = torch.from_numpy(np.load(self.work / "big.npy", mmap_mode="r")).to(DEV).permute(0, 3, 1, 2)
        return self.big

    def sized(self, rows, size):
        """Pictures at the size they are measured at; what lies beyond 256 is enlarged."""
        import torch
        import torch.nn.functional as F
        array = np.load(self.work / ("small.npy" if size == 224 else "big.npy"), mmap_mode="r")
        x = torch.from_numpy(array[np.asarray(rows)]).to(DEV).permute(0, 3, 1, 2).float()
        return x if size <= 256 else F.interpolate(x, size=(size, size), mode="bilinear", align_corners=False)

    def say(self, text, ids, noise=0.0):
        """The text tower on texts by number."""
        import torch
        base = self.emb[ids]
        if noise:
            base = base + noise * torch.randn_like(base) / 768**0.5
        return text(base) if text.words is None else text(base, self.words[ids], self.count[ids])

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
        if not cfg["steps_data"]:
            usable &= data.source != "step_pictures"
        if not cfg["world"]:
            usable &= data.source != "world"
        self.flat = {k: np.flatnonzero(usable & (data.kind == k)) for k in ("caption", "state", "label")}
        self.groups = {}
        for kind in ("video", "step", "world"):
            by = {}
            for i in np.flatnonzero(usable & (data.kind == kind)):
                by.setdefault(data.group[i], []).append(i)
            rows = [np.array(v) for v in by.values()]
            weight = np.array([math.sqrt(len(r)) for r in rows])
            self.groups[kind] = (rows, weight / weight.sum() if len(rows) else weight)
        self.recipes = {}
        for n, rows in enumerate(self.groups["video"][0]):
            self.recipes.setdefault(data.recipe[rows[0]], []).append(n)

    def draw(self):
        parts = []
        for kind in ("caption", "state", "label"):
            pool, count = self.flat[kind], self.cfg["batch"][kind]
            if len(pool) and count:
                parts.append(self.rng.choice(pool, count, replace=len(pool) < count))
        for kind, images in (("video", 3 * self.cfg["batch"]["video"]), ("step", self.cfg["batch"]["step"]), ("world", self.cfg["batch"]["world"])):
            rows, weight = self.groups[kind]
            if len(rows) and images:
                alike = kind == "video" and self.cfg["by_recipe"]
                parts.append(self.of_recipes(rows, images) if alike else self.of_groups(rows, weight, images))
        return np.concatenate(parts)

    def of_recipes(self, rows, images):
        """Half the videos with others of the same dish, up to four together; the rest at random."""
        several = [v for v in self.recipes.values() if len(v) > 1]
        picked = []
        for k in self.rng.permutation(len(several)):
            picked += list(self.rng.permutation(several[k])[:4])
            if len(picked) * 3 >= images // 2:
                break
        taken = set(picked)
        picked += [n for n in self.rng.permutation(len(rows)) if n not in taken]
        return np.concatenate([self.rng.permutation(rows[n]) for n in picked])[:images]

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


def whole_order(z, t, scale, places):
    """The right one of the six ways to give three frames to three texts, for the videos of a batch."""
    import torch
    threes = torch.from_numpy(places[:len(places) // 3 * 3].reshape(-1, 3)).to(DEV)
    sims = scale * torch.einsum("vid,vjd->vij", z[threes], t[threes])
    ways = torch.tensor(list(itertools.permutations(range(3))), device=DEV)
    sums = sims[:, torch.arange(3, device=DEV), ways].sum(-1)  # the first way is the right one
    return -torch.log_softmax(sums, 1)[:, 0].mean()


class Others:
    """Texts of steps without a picture: what else is done in a video, and what is done alike in another one."""

    def __init__(self, data, cfg, rng):
        import torch
        self.data, self.cfg, self.rng = data, cfg, rng
        used = ~data.held(cfg) & (data.source == "youcook2")
        mine = sorted(set(data.group[used]))
        main = data.main.cpu().numpy()
        self.own = {g: {main[i] for i in np.flatnonzero(used & (data.group == g))} for g in mine}
        self.rest = {g: [t for t in data.steps_of.get(g, []) if t not in self.own[g]] for g in mine}
        bank = [(t, g) for g in mine for t in data.steps_of.get(g, [])]
        ids, groups = torch.tensor([t for t, _ in bank]).to(DEV), torch.tensor([g for _, g in bank]).to(DEV)
        self.bank, self.alike = ids, {}
        for i in np.flatnonzero(used):
            close = (data.emb[ids] @ data.emb[main[i]] > 0.8) & (groups != int(data.group[i]))
            self.alike[i] = ids[close].tolist()

    def some(self, count):
        import torch
        return self.bank[torch.randint(len(self.bank), (count,), device=DEV)]

    def replace(self, drawn, choice):
        """Some frames' texts by those of a like step of another video."""
        for n, i in enumerate(drawn):
            if self.alike.get(i) and self.rng.random() < self.cfg["near"]:
                choice[n] = self.alike[i][self.rng.integers(len(self.alike[i]))]

    def draw(self, drawn, each=6):
        """For every frame of a video in the batch: its place, and numbers of texts it is not; -1 where there are too few."""
        places, texts = [], []
        for n, i in enumerate(drawn):
            if self.data.group[i] in self.own:
                places.append(n)
                texts.append((list(self.rng.permutation(self.rest[self.data.group[i]])) + [-1] * each)[:each])
        return places, texts


def other_steps(z, t, scale, rows, data, text, drawn):
    """Cross-entropy of a frame's own text against other steps of its video that have no picture."""
    import torch
    import torch.nn.functional as F
    places, texts = drawn
    if not places:
        return 0.0
    places, texts = torch.tensor(places).to(DEV), torch.tensor(texts).to(DEV)
    absent = texts < 0
    ids = texts.clamp(min=0)
    different, back = ids.unique(return_inverse=True)
    there = data.say(text, different)[back]
    own = data.emb[data.main[rows[places]]]
    absent |= (data.emb[ids] * own[:, None]).sum(-1) > 0.9  # the same said otherwise
    right = (z[places] * t[places]).sum(1, keepdim=True)
    wrong = (z[places][:, None] * there).sum(-1).masked_fill(absent, -1e3)
    return F.cross_entropy(scale * torch.cat([right, wrong], 1), torch.zeros(len(places), dtype=torch.long, device=DEV))


# ---------------------------------------------------------------- one training

def schedule(step, elapsed, cfg):
    """Warm-up, then a cosine that reaches nothing at the last step or when the time is up, whichever is sooner."""
    if step < cfg["warmup"]:
        return (step + 1) / cfg["warmup"]
    done = max((step - cfg["warmup"]) / max(1, cfg["steps"] - cfg["warmup"]), elapsed / cfg["max_seconds"])
    return 0.5 * (1 + math.cos(math.pi * min(1.0, done)))


def build(cfg, data):
    import torch
    from safetensors.torch import load_file
    from towers import Head, Lite, Text, Words
    clean = data.bank(cfg["model"])[0].float()
    mean, std = clean.mean(0), clean.std(0).clamp(min=0.02)
    pca = None
    if cfg["text_init"] != "random":
        centred = (data.emb[:len(data.text_list)] - data.mu) / data.sd
        val, vec = torch.linalg.eigh(centred.T @ centred / len(centred))
        val, vec = val.flip(0)[:384], vec.flip(1)[:, :384]
        pca = (vec * val.clamp(min=1e-6) ** (-cfg["white"])).T
    image = Head(mean.cpu(), std.cpu(), hidden=cfg["hidden"], dropout=cfg["dropout"], drop_in=cfg["drop_in"], seed=cfg["head_seed"]).to(DEV)
    text = Text(data.mu.cpu(), data.sd.cpu(), hidden=cfg["text_hidden"], dropout=cfg["dropout"], drop_in=cfg["text_drop"],
                seed=cfg["head_seed"] + 1, pca=None if pca is None else pca.cpu())
    if cfg["words"]:
        some = torch.cat([data.words[n, :data.count[n]] for n in range(0, len(data.text_list), 50)]).float()
        text.words = Words(some.mean(0).cpu(), some.std(0).clamp(min=1e-3).cpu(), looks=cfg["words"], dropout=cfg["dropout"], drop_in=cfg["text_drop"], seed=cfg["head_seed"] + 2)
    text = text.to(DEV)
    if cfg["text_init"] == "pca_fixed":
        text.linear.weight.requires_grad_(False)
    net = Lite(load_file(data.work / ".." / "pack" / f"{cfg['model']}.safetensors"), cfg["drop_path"]).freeze(cfg["frozen"], cfg["depthwise"]).to(DEV)
    return net.to(memory_format=torch.channels_last), image, text


def train_once(cfg, data, seed):
    import torch
    import torch.nn as nn
    from safetensors.torch import load_file
    torch.manual_seed(seed * 1000 + cfg["fold"])
    rng = np.random.default_rng(seed * 1000 + cfg["fold"])
    start = load_file(data.work / "results" / f"{cfg['init']}.safetensors") if cfg["init"] else None
    net, image, text = load_state(cfg, data, start) if start else build(cfg, data)
    if cfg["text_frozen"]:
        text.requires_grad_(False)
    scale = nn.Parameter(start["scale"].to(DEV) if start else torch.tensor(math.log(1 / 0.07), device=DEV))
    teacher = data.bank(cfg["model"])[1]
    params = [
        dict(params=[p for p in image.parameters() if p.requires_grad], lr=cfg["lr"], weight_decay=cfg["head_decay"]),
        dict(params=[p for p in text.parameters() if p.requires_grad], lr=cfg["lr"] * cfg["text_lr"], weight_decay=cfg["head_decay"]),
        dict(params=[scale], lr=cfg["lr"] * cfg["scale_lr"], weight_decay=0.0),
    ]
    params.append(dict(params=[p for p in net.parameters() if p.requires_grad], lr=cfg["backbone_lr"], weight_decay=0.0 if cfg["sp"] else cfg["decay"]))
    params = [p for p in params if p["params"]]
    opt = torch.optim.AdamW(params, betas=(0.9, 0.98))
    base_lr = [g["lr"] for g in opt.param_groups]
    every = [p for g in opt.param_groups for p in g["params"]]
    tuned = [p for p in net.parameters() if p.requires_grad]
    start_at = [p.detach().clone() for p in tuned] if cfg["sp"] else None
    ema = [p.detach().clone() for p in every]
    sampler = Sampler(data, cfg, rng)
    others = Others(data, cfg, rng) if cfg["others"] or cfg["near"] else None
    teachers = [load_named(data, n) for n in cfg["teachers"]]
    for m in (net, image):
        m.train()
    text.train(not cfg["text_frozen"])
    began, curve = time.time(), []
    for step in range(cfg["steps"]):
        rate = schedule(step, time.time() - began, cfg)
        for g, lr in zip(opt.param_groups, base_lr):
            g["lr"] = lr * rate
        drawn = sampler.draw()
        rows = torch.from_numpy(drawn).to(DEV)
        mixing = None
        if cfg["mix"]:
            stepish = torch.from_numpy(np.isin(data.kind[drawn], ["state", "video", "step", "world"])).to(DEV)
            places = torch.nonzero(stepish)[:, 0]
            perm = torch.arange(len(rows), device=DEV)
            perm[places] = places[torch.randperm(len(places), device=DEV)]
            share = torch.rand(len(rows), device=DEV) * 0.4 * (torch.rand(len(rows), device=DEV) < cfg["mix"]) * stepish
            mixing = (share, perm)
        with torch.no_grad():
            if cfg["stored"]:
                x = Store.draw_either(data.store, data.shaped_store, rows) if cfg["aspect"] else data.store.draw(rows)
            else:
                x = augment(data.pictures()[rows], cfg).to(torch.bfloat16)
            if mixing:
                x = paste(x, x[mixing[1]], mixing[0])
            x = x.contiguous(memory_format=torch.channels_last)
        feats = net.upper(x, data.store.start) if cfg["stored"] else net(x)
        choice = data.slots[rows, torch.randint(data.slots.shape[1], (len(rows),), device=DEV)]
        if cfg["near"]:
            others.replace(drawn, choice)
        base = data.emb[choice]
        z, t = image(feats), data.say(text, choice, cfg["text_noise"])
        s = scale.exp().clamp(max=cfg["scale_max"])
        loss = losses(z, t, s, rows, base, data, cfg, mixing)
        if cfg["whole"]:
            loss = loss + cfg["whole"] * whole_order(z, t, s, np.flatnonzero(data.kind[drawn] == "video"))
        if cfg["others"]:
            loss = loss + cfg["others"] * other_steps(z, t, s, rows, data, text, others.draw(drawn))
        if teachers:
            loss = loss + cfg["teach"] * lesson(z, t, s, x, choice, data, text, teachers, others)
        if cfg["distil"]:
            guess = s * (z @ data.say(text, data.classes).T)
            want = torch.softmax(teacher[rows].float(), 1)
            loss = loss - cfg["distil"] * (want * torch.log_softmax(guess, 1)).sum(1).mean()
        if cfg["phrases"]:
            want = torch.softmax(teacher[rows].float(), 1)[:, data.owner] * data.owner_share
            guess = s * (z @ data.say(text, data.phrases).T)
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
            if cfg["sp"] and tuned:
                torch._foreach_lerp_(tuned, start_at, min(1.0, rate * cfg["sp"]))
            torch._foreach_lerp_(ema, [p.detach() for p in every], 1 - min(cfg["ema"], (1 + step) / (10 + step)))
        if step % 50 == 0 or step == cfg["steps"] - 1:
            curve.append(round(loss.item(), 3))
        if time.time() - began > cfg["max_seconds"]:
            break
    state = modules_state(net, image, text, every, ema)
    state["scale"] = scale.detach().clone()
    return state, dict(seconds=time.time() - began, ran=step + 1, curve=curve, scale=s.item())


def load_named(data, name):
    """A model an earlier job left, and its scale."""
    from safetensors.torch import load_file
    state = load_file(data.work / "results" / f"{name}.safetensors")
    cfg = filled(json.loads((data.work / "results" / f"{name}.json").read_text())["cfg"])
    return *load_state(cfg, data, state), min(math.exp(float(state["scale"])), cfg["scale_max"])


def lesson(z, t, scale, x, choice, data, text, teachers, others, more=256):
    """What several models together make of the same views and texts, and of texts nobody paired with them."""
    import torch
    extra = others.some(more) if others else data.phrases[:0]
    texts = torch.cat([choice, extra])
    with torch.no_grad():
        want = 0
        for net, image, other, s in teachers:
            want = want + s * (image(net.upper(x, data.store.start)) @ data.say(other, texts).T) / len(teachers)
        there, back = want.softmax(1), want[:, :len(choice)].T.softmax(1)
    guess = scale * (z @ torch.cat([t, data.say(text, extra)]).T) if len(extra) else scale * (z @ t.T)
    return -((there * guess.log_softmax(1)).sum(1).mean() + (back * guess[:, :len(choice)].T.log_softmax(1)).sum(1).mean()) / 2


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
        lacking = [k for k in m.load_state_dict(mine, strict=False).missing_keys if not k.startswith("words.")]  # a first stage has none
        assert not lacking, lacking
        m.eval()
    return net, image, text


# ---------------------------------------------------------------- measuring

def encode(data, towers, rows, look="256"):
    """Features of pictures. A look is a size, or `own` for the picture's own shape; an f behind it flips; looks joined by + are averaged."""
    import torch
    net, image = towers[:2]
    parts = look.split("+")
    if len(parts) > 1:
        mean = sum(encode(data, towers, rows, p) for p in parts)
        return mean / np.linalg.norm(mean, axis=1, keepdims=True)
    kind, flip = look.rstrip("f"), look.endswith("f")
    out = np.zeros((len(rows), 384), np.float32)
    at = np.arange(len(rows))
    batches = data.shaped(rows) if kind == "own" else ((at[s:s + 256], data.sized(rows[s:s + 256], int(kind))) for s in range(0, len(rows), 256))
    with torch.no_grad():
        for places, x in batches:
            x = normalise(x.flip(3) if flip else x).contiguous(memory_format=torch.channels_last)
            out[places] = image(net(x)).cpu().numpy()
    return out


def encode_texts(data, towers, ids):
    import torch
    with torch.no_grad():
        return np.concatenate([data.say(towers[2], part).cpu().numpy() for part in torch.as_tensor(ids).to(DEV).split(2048)])


class Together:
    """Several models as one: similarities are the mean of theirs."""

    def __init__(self, members):
        self.members = members

    def encode(self, data, rows, look):
        return np.concatenate([encode(data, m, rows, look) for m in self.members], 1) / len(self.members)**0.5

    def encode_texts(self, data, ids):
        return np.concatenate([encode_texts(data, m, ids) for m in self.members], 1) / len(self.members)**0.5


def measure(cfg, data, towers, look="256"):
    import measure as m
    together = towers if isinstance(towers, Together) else Together([towers])
    pictures_of = lambda rows: together.encode(data, rows, look)
    texts_of = lambda ids: together.encode_texts(data, ids)
    out = {}
    main = data.main.cpu().numpy()
    held = data.held(cfg)
    video = np.flatnonzero((data.source == "youcook2") & (held if cfg["youcook"] else data.fold >= 0)) if not cfg["full"] else np.zeros(0, int)
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
    test = np.flatnonzero((data.source == "flickr8k") & (data.split == "test"))
    if len(test):
        z = pictures_of(test)
        ids = [c for r in test for c in data.items[r]["captions"]]
        t = texts_of(ids)
        out["flickr"] = m.recalls(m.ranks(t, z, [[i // 5] for i in range(len(ids))]))
        out["flickr"]["back_r1"] = m.recalls(m.ranks(z, t, [list(range(5 * i, 5 * i + 5)) for i in range(len(test))]))["r1"]
    world = np.flatnonzero((data.source == "world") & (data.split == "test"))
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
    cfg = filled(cfg)
    began = time.time()
    state, info = train_once(cfg, data, cfg["seed"])
    out = {"cfg": {k: v for k, v in cfg.items() if v != DEFAULTS.get(k)}, "info": info}
    towers = load_state(cfg, data, keep_state(data, cfg["name"], state))
    out["final"] = measure(cfg, data, towers)
    out["seconds"] = time.time() - began
    return out


def soup(cfg, data):
    """The mean of the weights of several jobs, measured as one model, as it is stored; or of several models' similarities."""
    from safetensors.torch import load_file
    began = time.time()
    names = cfg.get("soup") or cfg["ensemble"]
    like = json.loads((data.work / "results" / f"{names[-1]}.json").read_text())["cfg"]
    cfg = filled({**like, **cfg})
    if "soup" in cfg:
        states = [load_file(data.work / "results" / f"{n}.safetensors") for n in names]
        shares = cfg.get("shares", [1 / len(names)] * len(names))
        mean = {k: sum(w * s[k].float() for w, s in zip(shares, states)) for k in states[0]}
        towers = load_state(cfg, data, keep_state(data, cfg["name"], mean))
    else:
        towers = Together([load_named(data, n)[:3] for n in names])
    out = {"cfg": {k: v for k, v in cfg.items() if v != DEFAULTS.get(k)}, "info": {"curve": [0, 0]}}
    for look in cfg.get("looks", ["256"]):
        out["final" if look == "256" else look] = measure(cfg, data, towers, look)
    out["seconds"] = time.time() - began
    return out


def do_check(work, name):
    """Pictures and what the trained model makes of them, for export.py to prove itself by."""
    from safetensors.torch import load_file
    data = Data(work)
    cfg = filled(json.loads((work / "results" / f"{name}.json").read_text())["cfg"])
    towers = load_state(cfg, data, load_file(work / "results" / f"{name}.safetensors"))
    rows = np.flatnonzero(data.source == "youcook2")[:16]
    np.savez(work / "results" / "check.npz", rows=rows, image=encode(data, towers, rows, "224"), pictures=data.sized(rows, 224).cpu().numpy().astype(np.uint8),
             text=encode_texts(data, towers, data.main.cpu().numpy()[rows]), embeddings=data.emb[data.main[rows]].cpu().numpy())


def do_unseen(work, names, shipped, out):
    """Features of every YouCook2 frame and text by the model that has not seen it, and by the shipped one, at 256 px.

    Features of Flickr8k pictures and texts by every model come along, to fit maps between the spaces by.
    """
    from safetensors.torch import load_file
    data = Data(work)
    main = data.main.cpu().numpy()
    video = np.flatnonzero(data.source == "youcook2")
    flickr = np.flatnonzero((data.source == "flickr8k") & (data.split == "train"))[:1000]
    arrays = dict(video=video, fold=data.fold[video] % 3, flickr=flickr)
    for n, name in enumerate(names + [shipped]):
        cfg = filled(json.loads((work / "results" / f"{name}.json").read_text())["cfg"])
        towers = load_state(cfg, data, load_file(work / "results" / f"{name}.safetensors"))
        key = f"fold{n}" if n < len(names) else "shipped"
        for what, rows in (("video", video), ("flickr", flickr)):
            arrays[f"{key}_{what}_image"] = encode(data, towers, rows).astype(np.float16)
            arrays[f"{key}_{what}_text"] = encode_texts(data, towers, main[rows]).astype(np.float16)
    np.savez(out, **arrays)


def brief(name, out):
    f = out["final"]
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
    needs = cfg.get("soup", []) + cfg.get("ensemble", []) + cfg.get("teachers", []) + [n for n in [cfg.get("init")] if n]
    return all((work / "results" / f"{n}.json").exists() for n in needs)


def worker(work, number, stores, words):
    import torch
    torch.backends.cudnn.benchmark = False
    torch.backends.cuda.matmul.allow_tf32 = True
    torch.set_num_threads(2)
    data = Data(work, stores, words)
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
            out = soup(cfg, data) if "soup" in cfg or "ensemble" in cfg else run_job(cfg, data)
            (results / f"{name}.json.tmp").write_text(json.dumps(out))
            os.rename(results / f"{name}.json.tmp", results / f"{name}.json")
            line = brief(name, out)
        except Exception:
            line = f"{name} FAILED {traceback.format_exc()}"
        torch.cuda.empty_cache()
        with open(work / "log.txt", "a") as log:
            log.write(line + "\n")


def serve(work, pack, model, workers, start, few, many, own_shape):
    """Workers take job files in the order of their names, as soon as what they start from is there, until told to stop."""
    import torch.multiprocessing as mp
    (work / "jobs").mkdir(exist_ok=True)
    (work / "results").mkdir(exist_ok=True)
    began = time.time()
    stores = [Store.make(work, pack, model, start, few, many), Store.make(work, pack, model, start, few, many, True) if own_shape else None]
    words = load_words(work)
    print("stores", tuple(stores[0].maps.shape), f"{time.time()-began:.1f}s", flush=True)
    ctx = mp.get_context("spawn")
    ps = [ctx.Process(target=worker, args=(work, n, stores, words)) for n in range(workers)]
    for p in ps:
        p.start()
    for p in ps:
        p.join()


def main():
    args = argparse.ArgumentParser()
    args.add_argument("verb", choices=["decode", "embed", "features", "serve", "check", "unseen"])
    args.add_argument("--pack", type=pathlib.Path)
    args.add_argument("--work", type=pathlib.Path, required=True)
    args.add_argument("--workers", type=int, default=6)
    args.add_argument("--model", default="lite2")
    args.add_argument("--start", type=int, default=7, help="serve: blocks of the tower that stay fixed")
    args.add_argument("--few", type=int, default=8, help="serve: views of a picture")
    args.add_argument("--many", type=int, default=24, help="serve: views of a picture of a step")
    args.add_argument("--names", default="", help="unseen: the folds' models, then the shipped one; check: one model")
    args.add_argument("--words", action="store_true", help="embed: keep the words too")
    args.add_argument("--own-shape", action="store_true", help="serve: keep views of pictures in their own shape too, for jobs with `aspect`")
    args.add_argument("--out", type=pathlib.Path)
    args = args.parse_args()
    args.work.mkdir(parents=True, exist_ok=True)
    names = args.names.split(",")
    if args.verb == "decode":
        do_decode(args.pack, args.work)
    elif args.verb == "embed":
        do_embed(args.pack, args.work, args.words)
    elif args.verb == "features":
        do_features(args.pack, args.work, args.model)
    elif args.verb == "check":
        do_check(args.work, names[0])
    elif args.verb == "unseen":
        do_unseen(args.work, names[:-1], names[-1], args.out)
    else:
        serve(args.work, args.pack, args.model, args.workers, args.start, args.few, args.many, args.own_shape)


if __name__ == "__main__":
    main()
