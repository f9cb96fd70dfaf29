"""all-mpnet-base-v2 in numpy, for the few texts that come up away from a GPU."""
import json
import math
import pathlib

import numpy as np
from safetensors import safe_open
from tokenizers import Tokenizer


def _norm(x, weight, bias, eps=1e-5):
    mean = x.mean(-1, keepdims=True)
    x = x - mean
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + eps) * weight + bias


def _erf(x):
    """Abramowitz and Stegun 7.1.26: off by less than 2e-7."""
    t = 1 / (1 + 0.3275911 * np.abs(x))
    y = 1 - (((((1.061405429 * t - 1.453152027) * t) + 1.421413741) * t - 0.284496736) * t + 0.254829592) * t * np.exp(-x * x)
    return np.sign(x) * y


def _buckets(n, count=32, far=128):
    """MPNet's bucket of each pair of positions."""
    away = -(np.arange(n)[None, :] - np.arange(n)[:, None])
    half = count // 2
    out = (away < 0) * half
    away = np.abs(away)
    exact = half // 2
    large = exact + (np.log(np.maximum(away, 1) / exact) / math.log(far / exact) * (half - exact)).astype(int)
    return out + np.where(away < exact, away, np.minimum(large, half - 1))


class Sentence:
    def __init__(self, folder):
        folder = pathlib.Path(folder)
        self.heads = json.load(open(folder / "config.json"))["num_attention_heads"]
        with safe_open(folder / "model.safetensors", "numpy") as f:
            self.w = {k: f.get_tensor(k).astype(np.float32) for k in f.keys() if "position_ids" not in k}
        self.tok = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.tok.enable_truncation(128)
        self.tok.no_padding()

    def __call__(self, texts):
        """Unit vectors; texts of one length go together, so nothing is padded."""
        ids = [self.tok.encode(t).ids for t in texts]
        out = np.zeros((len(texts), 768), np.float32)
        by = {}
        for n, i in enumerate(ids):
            by.setdefault(len(i), []).append(n)
        for rows in by.values():
            for s in range(0, len(rows), 64):
                part = rows[s:s + 64]
                out[part] = self._same_length(np.array([ids[n] for n in part]))
        return out

    def _linear(self, x, name):
        return x @ self.w[name + ".weight"].T + self.w[name + ".bias"]

    def _same_length(self, ids):
        w, (count, n) = self.w, ids.shape
        x = w["embeddings.word_embeddings.weight"][ids] + w["embeddings.position_embeddings.weight"][2:2 + n]
        x = _norm(x, w["embeddings.LayerNorm.weight"], w["embeddings.LayerNorm.bias"])
        bias = w["encoder.relative_attention_bias.weight"][_buckets(n)].transpose(2, 0, 1)
        size = x.shape[-1] // self.heads
        split = lambda y: y.reshape(count, n, self.heads, size).transpose(0, 2, 1, 3)
        layer = 0
        while f"encoder.layer.{layer}.attention.attn.q.weight" in w:
            p = f"encoder.layer.{layer}."
            q, k, v = (split(self._linear(x, f"{p}attention.attn.{c}")) for c in "qkv")
            a = q @ k.transpose(0, 1, 3, 2) / math.sqrt(size) + bias
            a = np.exp(a - a.max(-1, keepdims=True))
            a /= a.sum(-1, keepdims=True)
            y = self._linear((a @ v).transpose(0, 2, 1, 3).reshape(count, n, -1), p + "attention.attn.o")
            x = _norm(x + y, w[p + "attention.LayerNorm.weight"], w[p + "attention.LayerNorm.bias"])
            y = self._linear(x, p + "intermediate.dense")
            y = self._linear(y * 0.5 * (1 + _erf(y / math.sqrt(2))), p + "output.dense")
            x = _norm(x + y, w[p + "output.LayerNorm.weight"], w[p + "output.LayerNorm.bias"])
            layer += 1
        x = x.mean(1)
        return x / np.linalg.norm(x, axis=1, keepdims=True)
