"""What pictures look like in 128 numbers: whitened principal components of what both towers see before their heads.

    stitch world render --frames-only --out frames --seed 5150 --videos 180 --size 456x256 --frames-per-step 2
    stitch world render --frames-only --out others --seed 5151 --videos 72 --size 456x256 --frames-per-step 3
    python appearance.py --world frames --data DATA --held others --out ../../models/mini

Writes `appearance.safetensors`, with the row of the picture of golden.json as `golden`, and its hash into `card.json`. Half of the weight has the
made-up library, half the real pictures (YouCook2 frames, step photographs). `--held` is measured only.
Needs numpy, onnx, onnxruntime, pillow and safetensors.
"""
import argparse
import hashlib
import io
import json
import pathlib
import tarfile

import numpy as np
import onnx
import onnxruntime
from PIL import Image
from safetensors.numpy import save_file

DIM, SIDE = 128, 256
# Of the first component's variance: smaller ones are mostly noise, which full whitening would raise to the same length.
LEAST_VARIANCE = 0.02


def towers(folder):
    """The graphs, with the output of their Flatten node."""
    sessions = []
    for number in (1, 2):
        model = onnx.load(folder / f"image{number}.onnx")
        pooled = next(node.output[0] for node in model.graph.node if node.op_type == "Flatten")
        model.graph.output.append(onnx.ValueInfoProto(name=pooled))
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        sessions.append(lambda planes, session=session, pooled=pooled: session.run([pooled], {"pixels": planes})[0])
    return sessions


def unit(rows):
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)


def pooled(sessions, planes):
    return unit(np.concatenate([unit(run(planes)) for run in sessions], axis=1))


def seen(sessions, pictures):
    """A row of 2 x 1280 numbers for every picture."""
    rows = []
    for picture in pictures:
        squashed = picture.convert("RGB").resize((SIDE, SIDE), Image.BILINEAR)
        rows.append(pooled(sessions, np.asarray(squashed).transpose(2, 0, 1)[None])[0])
    return np.array(rows, np.float32)


def made_up(folder):
    """Frames of steps, with their ground truth, in order of time."""
    for line in (folder / "frames.jsonl").read_text().splitlines():
        frame = json.loads(line)
        if frame["text"]:
            yield frame, Image.open(folder / frame["file"])


def real(data, most=1000):
    for name in ("youcook2_frames/images.tar", "pairs/step_pictures.tar"):
        with tarfile.open(data / name) as tar:
            members = [m for m in tar if m.name.endswith((".webp", ".jpg", ".png"))][:most]
            for member in members:
                yield Image.open(io.BytesIO(tar.extractfile(member).read()))


def components(made_up, real):
    """Weight and bias of the layer that centres, projects and whitens."""
    parts = [part for part in (made_up, real) if len(part)]
    mean = np.mean([part.mean(0) for part in parts], axis=0)
    covariance = np.mean([(part - mean).T @ (part - mean) / len(part) for part in parts], axis=0)
    variance, vectors = np.linalg.eigh(covariance)
    variance, vectors = variance[::-1][:DIM], vectors[:, ::-1][:, :DIM]
    weight = (vectors / np.sqrt(np.maximum(variance, LEAST_VARIANCE * variance[0]))).T
    weight = weight.astype(np.float16)
    return weight, (-weight.astype(np.float32) @ mean).astype(np.float32), variance


def measure(rows, frames):
    """Cosines of first and last frames of steps: of one video, of others of its domain; and whether the nearest first
    frame to the last frame of a step is that of a step of its own video, and of the very next."""
    key = lambda f: (f["domain"], f["video"], f["text"])
    steps = {}
    for row, frame in zip(rows, frames):
        steps.setdefault(key(frame), []).append(row)
    names = list(steps)
    mean = unit(np.array([np.mean(steps[name], axis=0) for name in names]))
    first, last = (np.array([steps[name][at] for name in names]) for at in (0, -1))
    domain, video = (np.array([name[at] for name in names]) for at in (0, 1))
    same = video[:, None] == video[None]
    others = (domain[:, None] == domain[None]) & ~same
    apart = same & ~np.eye(len(names), dtype=bool)
    cosines = mean @ mean.T
    near = last @ first.T
    np.fill_diagonal(near, -2)
    nearest = near.argmax(1)
    following = [at for at in range(len(names) - 1) if video[at] == video[at + 1]]
    return {
        "clips": len(names),
        "one video": round(float(cosines[apart].mean()), 3),
        "other videos": round(float(cosines[others].mean()), 3),
        "last to next first": round(float(np.mean([near[at, at + 1] for at in following])), 3),
        "nearest in own video": round(float(np.mean(video[nearest] == video)), 3),
        "nearest is the next": round(float(np.mean([nearest[at] == at + 1 for at in following])), 3),
    }


def golden(sessions, weight, bias):
    """Of the picture that the towers are tested with."""
    y, x = np.mgrid[:SIDE, :SIDE]
    planes = np.array([[((c + 1) * x + 2 * y) % 256 for c in range(3)]], np.uint8)
    return unit(pooled(sessions, planes) @ weight.astype(np.float32).T + bias)[0]


def main():
    parser = argparse.ArgumentParser()
    for name in ("--world", "--data", "--held", "--out"):
        parser.add_argument(name, type=pathlib.Path, required=name in ("--world", "--out"))
    options = parser.parse_args()
    sessions = towers(options.out)
    own = seen(sessions, (picture for _, picture in made_up(options.world)))
    photographs = seen(sessions, real(options.data)) if options.data else np.zeros((0, own.shape[1]), np.float32)
    weight, bias, variance = components(own, photographs)
    print(f"{len(own)} made-up frames, {len(photographs)} pictures, variance kept {variance.sum():.3f}")
    path, card = options.out / "appearance.safetensors", options.out / "card.json"
    row = golden(sessions, weight, bias).astype(np.float32)
    save_file({"components.weight": weight, "components.bias": bias, "golden": row}, path)
    known = json.loads(card.read_text())
    known["files"][path.name] = {"bytes": path.stat().st_size, "sha256": hashlib.sha256(path.read_bytes()).hexdigest()}
    card.write_text(json.dumps(known, indent=2) + "\n")
    if options.held:
        frames, pictures = zip(*made_up(options.held))
        rows = seen(sessions, pictures)
        print("towers ", measure(rows, frames))
        print("written", measure(unit(rows @ weight.astype(np.float32).T + bias), frames))


if __name__ == "__main__":
    main()
