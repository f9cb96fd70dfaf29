"""The trial of I3D under a trained head: what motion adds to `mini` (README.md, "Motion"). PyTorch, one GPU.

    python motion.py bank  --pack PACK --work WORK              features of all pictures, as clips that stand still or wander
    python motion.py clips --pack PACK --work WORK --clips DIR  features of real clips (clips.jsonl beside them)
    python motion.py heads --work WORK [--distil 1]             a head, and the ranks of the clips for their captions

After `train.py decode` and `embed`. PACK also holds i3d.npz (see i3d.py) and classes.txt, the names of its classes.
"""
import argparse
import json
import math
import pathlib
import re

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

import train
from i3d import I3D
from towers import Head

FPS, WINDOW, SIZE, SEEDS, STEPS = 8, 32, 224, 2, 1200
SUBJECT = re.compile(
    r"^(there (is|are) )?((a|an|the|two|some|several) )?(person|people|someone|somebody|man|woman|men|women|boy|girl|hands|chef|cook)( (is|are))? (?=\w+ing\b)", re.I)


def without_subject(text):
    """As `mini` reads a text."""
    return SUBJECT.sub("", text)


def wandering(pictures, move):
    """Clips of 16 frames: a crop that stays, or one that moves half of the way to another."""
    n, frames = len(pictures), 16
    u = lambda low, high: torch.rand(n, device=pictures.device) * (high - low) + low

    def crop():
        area, ratio = u(0.45, 1.0), torch.exp(u(-0.25, 0.25))
        w, h = (area * ratio).sqrt().clamp(max=1), (area / ratio).sqrt().clamp(max=1)
        return torch.stack([w, h, u(-1, 1) * (1 - w), u(-1, 1) * (1 - h)], 1)

    first = crop()
    last = (first + crop()) / 2 if move else first
    time = torch.linspace(0, 1, frames if move else 1, device=pictures.device)[None, :, None]
    w, h, x, y = (first[:, None] * (1 - time) + last[:, None] * time).unbind(-1)
    flip, zero = torch.where(u(0, 1) < 0.5, -1.0, 1.0)[:, None], torch.zeros_like(w)
    theta = torch.stack([torch.stack([w * flip, zero, x], -1), torch.stack([zero, h, y], -1)], -2)
    grid = F.affine_grid(theta.flatten(0, 1), (theta[..., 0, 0].numel(), 3, SIZE, SIZE), align_corners=False)
    repeated = pictures.float()[:, None].expand(-1, theta.shape[1], -1, -1, -1).flatten(0, 1)
    seen = F.grid_sample(repeated, grid, padding_mode="reflection", align_corners=False).unflatten(0, (n, -1)).transpose(1, 2)
    return ((seen * u(0.75, 1.25)[:, None, None, None, None]).clamp(0, 255) / 127.5 - 1).expand(-1, -1, frames, -1, -1)


def encoder(pack):
    net = I3D(dict(np.load(pack / "i3d.npz"))).cuda().eval().to(memory_format=torch.channels_last_3d)

    def run(clips):
        with torch.no_grad(), torch.autocast("cuda", torch.bfloat16):
            return [out.float().cpu() for out in net(clips.to(memory_format=torch.channels_last_3d))]
    return run


def bank(pack, work, views=4):
    run, pictures = encoder(pack), np.load(work / "big.npy", mmap_mode="r")
    torch.manual_seed(0)
    parts = [[run(wandering(torch.from_numpy(np.array(pictures[s:s + 128])).cuda().permute(0, 3, 1, 2), view % 2 == 1))
              for s in range(0, len(pictures), 128)] for view in range(views)]
    torch.save([torch.stack([torch.cat([p[i] for p in view]) for view in parts]) for i in (0, 1)], work / "i3d.pt")
    names = [line.strip() for line in open(pack / "classes.txt")]
    np.save(work / "classes.npy", train.embed_texts(names, pack))


def frames_of(path):
    import cv2
    video, frames = cv2.VideoCapture(str(path)), []
    every = max(1.0, video.get(cv2.CAP_PROP_FPS) / FPS)
    for n in range(int(video.get(cv2.CAP_PROP_FRAME_COUNT))):
        ok, frame = video.read()
        if ok and int(n / every) >= len(frames):
            frames.append(cv2.resize(frame, (SIZE, SIZE), interpolation=cv2.INTER_LINEAR)[..., ::-1])
    return torch.from_numpy(np.stack(frames))


def windows(frames):
    if len(frames) < WINDOW:  # a short clip in one window, the last frame repeated
        length = max(16, math.ceil(len(frames) / 8) * 8)
        return torch.cat([frames, frames[-1:].expand(length - len(frames), -1, -1, -1)])[None]
    return torch.stack([frames[s:s + WINDOW] for s in range(0, len(frames) - WINDOW + 1, WINDOW // 2)])


def clips(pack, work, folder):
    run, rows = encoder(pack), [json.loads(line) for line in open(folder / "clips.jsonl")]
    seen = [torch.cat([run(part.cuda().permute(0, 4, 1, 2, 3).float() / 127.5 - 1)[0] for part in windows(frames_of(folder / row["file"])).split(8)]) for row in rows]
    texts = train.embed_texts([without_subject(row["text"]) for row in rows], pack)
    torch.save((seen, torch.from_numpy(texts)), work / "clips.pt")


def head(data, features, scores, classes, distil, seed):
    """Trained like the heads of `mini`, with I3D's own class names as further targets."""
    torch.manual_seed(seed)
    cfg = {**train.DEFAULTS, "full": True, "steps": STEPS, "seed": seed}
    image, text = train_heads(data, features, cfg)
    scale = nn.Parameter(torch.tensor(math.log(1 / 0.07), device="cuda"))
    opt = torch.optim.AdamW([dict(params=[*image.parameters(), *text.parameters()], weight_decay=cfg["decay"]), dict(params=[scale], weight_decay=0.0)], lr=cfg["lr"], betas=(0.9, 0.98))
    sampler = train.Sampler(data, cfg, np.random.default_rng(seed))
    every = [p for group in opt.param_groups for p in group["params"]]
    ema = [p.detach().clone() for p in every]
    for step in range(STEPS):
        for group, rate in zip(opt.param_groups, (1, cfg["scale_lr"])):
            group["lr"] = cfg["lr"] * rate * train.schedule(step, cfg)
        rows = torch.from_numpy(sampler.draw()).cuda()
        view = torch.randint(len(features), (len(rows),), device="cuda")
        base = data.emb[data.slots[rows, torch.randint(data.slots.shape[1], (len(rows),), device="cuda")]]
        z, t, s = image(features[view, rows]), text(base), scale.exp().clamp(max=cfg["scale_max"])
        want, guess = torch.softmax(scores[view, rows], 1), torch.log_softmax(s * (z @ text(classes).T), 1)
        loss = train.losses(z, t, s, rows, base, data, cfg) - distil * (want * guess).sum(1).mean()
        opt.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(every, cfg["clip"])
        opt.step()
        with torch.no_grad():
            torch._foreach_lerp_(ema, [p.detach() for p in every], 1 - min(cfg["ema"], (1 + step) / (10 + step)))
    with torch.no_grad():
        [p.copy_(e) for p, e in zip(every, ema)]
    return image.eval(), text.eval()


def train_heads(data, features, cfg):
    flat = features.flatten(0, 1)
    centred = (data.emb[:len(data.text_list)] - data.mu) / data.sd
    val, vec = torch.linalg.eigh(centred.T @ centred / len(centred))
    pca = (vec.flip(1)[:, :cfg["dim"]] * val.flip(0)[:cfg["dim"]].clamp(min=1e-6) ** -cfg["white"]).T
    make = lambda mean, std, drop, seed, pca=None: Head(mean.cpu(), std.cpu(), cfg["dim"], cfg["hidden"], cfg["dropout"], drop, 2 * cfg["seed"] + seed, pca).cuda().train()
    return make(flat.mean(0), flat.std(0).clamp(min=1e-3), cfg["drop_in"], 0), make(data.mu, data.sd, cfg["text_drop"], 1, pca.cpu())


def heads(work, distil):
    data = train.Data(work)
    features, scores = (part.cuda() for part in torch.load(work / "i3d.pt"))
    classes = torch.from_numpy(np.load(work / "classes.npy")).cuda()
    seen, texts = torch.load(work / "clips.pt")
    cosines = 0
    for seed in range(SEEDS):
        image, text = head(data, features, scores, classes, distil, seed)
        with torch.no_grad():
            z = torch.stack([F.normalize(image(rows.cuda()).mean(0), dim=0) for rows in seen])
            cosines = cosines + (text(texts.cuda()) @ z.T).cpu().numpy() / SEEDS
    ranks = (cosines > cosines.diagonal()[:, None]).sum(1) + 1
    print(" ".join(f"R@{k} {100 * (ranks <= k).mean():.1f}" for k in (1, 5, 10)), "median rank", np.median(ranks))
    np.save(work / "cosines.npy", cosines)


def main():
    args = argparse.ArgumentParser()
    args.add_argument("what", choices=("bank", "clips", "heads"))
    args.add_argument("--pack", type=pathlib.Path)
    args.add_argument("--work", type=pathlib.Path, required=True)
    args.add_argument("--clips", type=pathlib.Path)
    args.add_argument("--distil", type=float, default=1.0)
    args = args.parse_args()
    if args.what == "bank":
        bank(args.pack, args.work)
    elif args.what == "clips":
        clips(args.pack, args.work, args.clips)
    else:
        heads(args.work, args.distil)


if __name__ == "__main__":
    main()
