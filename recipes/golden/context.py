"""Makes the golden files of steps read in their procedure, in crates/engine/tests/data/tiny-mpnet:

- adapter.safetensors: a random low-rank update of both layers of the small MPNet of mpnet.py;
- context.json: procedures, and the rows of their steps with that update.

    python recipes/golden/context.py

MPNet is computed here with numpy, and checked against golden.json, which transformers made.
Needs numpy, safetensors, tokenizers; made with 2.4, 0.8, 0.23.
"""

import json
import math
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file, save_file
from tokenizers import Tokenizer

FOLDER = Path(__file__).resolve().parents[2] / "crates/engine/tests/data/tiny-mpnet"
HEADS, BUCKETS, PAD, EPS = 4, 32, 1, 1e-5
STEP_TOKENS, CONTEXT_TOKENS, LONGEST, RANK = 64, 128, 150, 3


def layer_norm(weights, name, x):
    x = (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + EPS)
    return x * weights[name + ".weight"] + weights[name + ".bias"]


def linear(weights, adapter, name, x):
    y = x @ weights[name + ".weight"].T + weights[name + ".bias"]
    return y + x @ adapter[name + ".a"] @ adapter[name + ".b"] if name + ".a" in adapter else y


def bucket(distance):
    half = BUCKETS // 2
    exact, side, far = half // 2, half if distance > 0 else 0, abs(distance)
    if far < exact:
        return side + far
    ratio = math.log(far / exact) / math.log(128 / exact)
    return side + min(exact + int(ratio * (half - exact)), half - 1)


def forward(weights, adapter, tokens, pooled):
    """The mean of the first `pooled` tokens, of length 1."""
    n = len(tokens)
    x = weights["embeddings.word_embeddings.weight"][tokens]
    x = x + weights["embeddings.position_embeddings.weight"][PAD + 1 : PAD + 1 + n]
    x = layer_norm(weights, "embeddings.LayerNorm", x)
    buckets = [[bucket(key - query) for key in range(n)] for query in range(n)]
    bias = weights["encoder.relative_attention_bias.weight"][buckets]  # [n, n, heads]
    layers = 1 + max(int(name.split(".")[2]) for name in weights if ".layer." in name)
    for number in range(layers):
        name = f"encoder.layer.{number}."
        parts = [linear(weights, adapter, f"{name}attention.attn.{part}", x) for part in "qkv"]
        q, k, v = (part.reshape(n, HEADS, -1).transpose(1, 0, 2) for part in parts)
        scores = q @ k.transpose(0, 2, 1) / math.sqrt(q.shape[2]) + bias.transpose(2, 0, 1)
        scores = np.exp(scores - scores.max(2, keepdims=True))
        attended = (scores / scores.sum(2, keepdims=True) @ v).transpose(1, 0, 2).reshape(n, -1)
        out = linear(weights, adapter, name + "attention.attn.o", attended) + x
        x = layer_norm(weights, name + "attention.LayerNorm", out)
        wide = linear(weights, {}, name + "intermediate.dense", x)
        wide = wide * (1 + np.vectorize(math.erf)(wide / math.sqrt(2))) / 2
        narrow = linear(weights, adapter, name + "output.dense", wide) + x
        x = layer_norm(weights, name + "output.LayerNorm", narrow)
    mean = x[:pooled].mean(0)
    return mean / np.linalg.norm(mean)


def in_context(title, steps):
    """The last step, then the title and the steps before it, nearest first."""
    tokens = list(steps[-1])
    if len(tokens) > STEP_TOKENS:
        tokens = tokens[: STEP_TOKENS - 1] + tokens[-1:]
    pooled = len(tokens)
    for text in title + steps[-2::-1]:
        tokens += text[1:]
    return tokens[:CONTEXT_TOKENS], pooled


def main():
    weights = {name: x.astype(np.float64) for name, x in load_file(FOLDER / "model.safetensors").items()}
    tokenizer = Tokenizer.from_file(str(FOLDER / "tokenizer.json"))
    tokenizer.enable_truncation(LONGEST)

    def ids(text):
        return tokenizer.encode(text).ids

    for golden in json.loads((FOLDER / "golden.json").read_text()):
        tokens = ids(golden["text"])
        row = forward(weights, {}, tokens, len(tokens))
        assert np.abs(row - golden["row"]).max() < 2e-6, golden["text"]

    random = np.random.default_rng(7)
    d, wide = weights["encoder.layer.0.output.dense.weight"].shape
    adapter = {}
    for layer in range(2):
        for part in ["attention.attn.q", "attention.attn.k", "attention.attn.v", "attention.attn.o",
                     "output.dense"]:
            name, into = f"encoder.layer.{layer}.{part}", wide if part == "output.dense" else d
            adapter[name + ".a"] = random.normal(0, 0.3, (into, RANK)).astype(np.float32)
            adapter[name + ".b"] = random.normal(0, 0.3, (RANK, d)).astype(np.float32)
    save_file(adapter, FOLDER / "adapter.safetensors")

    procedures = [("the onion pan", ["Chop the onion.", "add salt", "stir it in a pan and fry"]),
                  ("", ["sand the board " * 40, "drill the board"])]
    golden = []
    for title, steps in procedures:
        texts = [ids(step) for step in steps]
        heading = [ids(title)] if title else []
        contexts = [in_context(heading, texts[: i + 1]) for i in range(len(steps))]
        rows = [forward(weights, adapter, *context) for context in contexts]
        plain = [forward(weights, {}, *context) for context in contexts]
        assert min(np.abs(np.subtract(a, b)).max() for a, b in zip(rows, plain)) > 0.01
        rows = [[round(float(x), 7) for x in row] for row in rows]
        golden.append({"title": title, "steps": steps, "rows": rows})
    (FOLDER / "context.json").write_text(json.dumps(golden) + "\n")


if __name__ == "__main__":
    main()
