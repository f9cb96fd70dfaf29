"""From trained weights to what ships: models/mini with two image towers, their text heads, settings and a card.

    python export.py --weights first.safetensors second.safetensors --card card.in.json --check check.npz --out models/mini

Needs numpy, onnx, onnxruntime and safetensors; no PyTorch. `check.npz` holds pictures and what the trained models
made of them, so that each graph is proved against the model it came from.
"""
import argparse
import hashlib
import json
import math
import pathlib
import time

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto
from safetensors.numpy import load_file, save_file

import graph

EPS = graph.EPS
NAMES = ("first", "second")
PARTS = {"_expand_conv": "expand", "_depthwise_conv": "depthwise", "_project_conv": "project"}


def trained(state):
    """Folded convolutions of our own weights, under the published names."""

    def folded(name):
        if name in ("_conv_stem", "_conv_head"):
            key = "net." + name.removeprefix("_conv_")
        else:
            _, index, part = name.split(".")
            key = f"net.blocks.{index}.{PARTS[part]}"
        if key + ".weight" not in state:
            return None
        get = lambda leaf: state[f"{key}.{leaf}"].astype(np.float32)
        scale = get("gamma") / np.sqrt(get("var") + EPS)
        return get("weight") * scale[:, None, None, None], get("beta") - get("mean") * scale
    return folded


def head_of(state, name):
    """A head with its standardisation folded in: linear and two-layer parts over the raw input."""
    get = lambda leaf: state[f"{name}.{leaf}"].astype(np.float32)
    mean, std = get("mean"), get("std")
    share = np.where(std > 1.001e-3, 1 / std, 0)  # an input that never varies says nothing

    def fold(weight, bias):
        weight = (weight * share).astype(np.float16).astype(np.float32)  # as stored, so that the bias fits it
        return weight, bias - weight @ mean

    linear, up = fold(get("linear.weight"), get("linear.bias")), fold(get("up.weight"), get("up.bias"))
    return {"linear.weight": linear[0], "linear.bias": linear[1] + get("down.bias"), "up.weight": up[0], "up.bias": up[1], "down.weight": get("down.weight")}


def gelu(g, x):
    erf = g.add("Erf", [g.add("Mul", [x, g.single(np.float32(0.5**0.5))])])
    half = g.add("Mul", [x, g.single(np.float32(0.5))])
    return g.add("Mul", [half, g.add("Add", [erf, g.single(np.float32(1))])])


def image_model(state):
    g = graph.Graph()
    x = g.add("Cast", ["pixels"], to=TensorProto.FLOAT)
    x = g.add("Mul", [g.add("Sub", [x, g.single(np.float32(127))]), g.single(np.float32(1 / 128))])
    x = graph.tower(g, x, trained(state))
    h = head_of(state, "image")
    gemm = lambda x, w, b: g.add("Gemm", [x, g.constant(h[w]), g.single(h[b])] if b else [x, g.constant(h[w])], transB=1)
    straight = gemm(x, "linear.weight", "linear.bias")
    bent = gemm(gelu(g, gemm(x, "up.weight", "up.bias")), "down.weight", None)
    g.add("LpNormalization", [g.add("Add", [straight, bent])], axis=1, p=2)
    g.nodes[-1].output[0] = "features"
    dim = h["linear.weight"].shape[0]
    built = graph.model(g, "pixels", "features", dim, TensorProto.UINT8)
    onnx.checker.check_model(built)
    return built


def beside(halves):
    """Features of both towers, or of both text heads, as one vector of unit length."""
    return np.concatenate(halves, 1) / len(halves) ** 0.5


def text_features(h, x):
    """What a text head does, for the record and the check."""
    up = x @ h["up.weight"].astype(np.float32).T + h["up.bias"]
    erf = np.vectorize(math.erf)
    bent = up * 0.5 * (1 + erf(up / 2**0.5)).astype(np.float32)
    y = x @ h["linear.weight"].astype(np.float32).T + h["linear.bias"] + bent @ h["down.weight"].astype(np.float32).T
    return y / np.linalg.norm(y, axis=1, keepdims=True)


def speed(session, size, runs=40):
    x = np.zeros((1, 3, size, size), np.uint8)
    times = []
    for _ in range(runs):
        start = time.process_time()  # the processor's time, whatever else runs beside
        session.run(None, {"pixels": x})
        times.append(time.process_time() - start)
    return 1000 * float(np.median(times)), 1000 * min(times)


def golden(sessions, heads):
    """Made-up inputs and what comes out, for any other reader of these files to be tested by."""
    out = {"picture": "pixels[c][y][x] = ((c + 1) * x + 2 * y) % 256", "text": "x[i] = sin(i + 1), then unit length"}
    for size in (224, 256):
        c, y, x = np.mgrid[:3, :size, :size]
        pixels = (((c + 1) * x + 2 * y) % 256).astype(np.uint8)[None]
        out[f"image_{size}"] = [round(float(v), 6) for v in beside([s.run(None, {"pixels": pixels})[0] for s in sessions])[0]]
    x = np.sin(np.arange(1, heads[0]["linear.weight"].shape[1] + 1, dtype=np.float32))[None]
    out["text_features"] = [round(float(v), 6) for v in beside([text_features(h, x / np.linalg.norm(x)) for h in heads])[0]]
    return out


def sha(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def main():
    args = argparse.ArgumentParser()
    args.add_argument("--weights", type=pathlib.Path, nargs=2, required=True)
    args.add_argument("--check", type=pathlib.Path, required=True)
    args.add_argument("--card", type=pathlib.Path, required=True, help="what the card says beyond the files: data, licences, metrics")
    args.add_argument("--out", type=pathlib.Path, required=True)
    args.add_argument("--size", type=int, default=256, help="side the pictures are squashed to; any multiple of 32 works")
    args = args.parse_args()
    states = [load_file(path) for path in args.weights]
    args.out.mkdir(parents=True, exist_ok=True)
    images, text = [args.out / f"image{n}.onnx" for n in (1, 2)], args.out / "text_projection.safetensors"
    for path, state in zip(images, states):
        path.write_bytes(image_model(state).SerializeToString())
    parts = {f"{name}.{k}": v for name, state in zip(NAMES, states) for k, v in head_of(state, "text").items()}
    save_file({k: v.astype(np.float16 if v.ndim > 1 else np.float32) for k, v in parts.items()}, text)
    text.chmod(0o644)
    stored = load_file(text)
    heads = [{k.removeprefix(name + "."): v for k, v in stored.items() if k.startswith(name + ".")} for name in NAMES]

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    sessions = [onnxruntime.InferenceSession(str(path), options) for path in images]
    check, parity = np.load(args.check), {}
    for n, (path, session, head) in enumerate(zip(images, sessions, heads), 1):
        got = session.run(None, {"pixels": check["pictures"]})[0]
        parity[path.name] = {"image_cosine_min": round(float((got * check[f"image{n}"]).sum(1).min()), 6),
                             "text_cosine_min": round(float((text_features(head, check["embeddings"]) * check[f"text{n}"]).sum(1).min()), 6)}
        assert min(parity[path.name].values()) > 0.999, "the exported model is not the trained one"
        for size in (224, 256):
            median, best = speed(session, size)
            print(f"{path.name}, {size} px: {median:.1f} ms a picture on one thread (best {best:.1f})")
    print(parity, {p.name: f"{p.stat().st_size / 2**20:.2f} MiB" for p in (*images, text)})

    config = {
        "name": "mini", "kind": "two-tower", "dim": sum(h["linear.weight"].shape[0] for h in heads),
        "image": {"files": [p.name for p in images], "input": "pixels", "type": "uint8", "layout": "NCHW", "channels": "RGB", "size": args.size, "sizes": "any multiple of 32; 224 is faster",
                  "resize": "squash", "filter": "bilinear-antialias", "mean": 127.0, "scale": 128.0, "normalisation": "inside the graph", "output": "features"},
        "text": {"file": text.name, "model": "all-mpnet-base-v2", "pooling": "mean", "input_normalised": True, "input_dim": int(heads[0]["linear.weight"].shape[1]),
                 "form": "normalise(linear(x) + down(gelu(up(x)))), gelu exact (erf), by the heads `first` and `second`; the two halves are normalised each, concatenated and divided by sqrt 2"},
    }
    (args.out / "config.json").write_text(json.dumps(config, indent=2) + "\n")
    (args.out / "golden.json").write_text(json.dumps(golden(sessions, heads)) + "\n")
    card = json.loads(args.card.read_text())
    card["files"] = {p.name: {"bytes": p.stat().st_size, "sha256": sha(p)} for p in (*images, text, args.out / "config.json", args.out / "golden.json")}
    card["parity_with_training"] = parity
    (args.out / "card.json").write_text(json.dumps(card, indent=2) + "\n")


if __name__ == "__main__":
    main()
