"""The two towers: EfficientNet-Lite with a head, and a head over a frozen sentence embedding."""
import torch
import torch.nn as nn
import torch.nn.functional as F

STRIDES = (1, 2, 2, 2, 1, 2, 1)  # of the first block of each of the seven stages
EPS = 1e-3


class ConvBn(nn.Module):
    """A convolution with its batch norm folded in on every call.

    The statistics stay those of ImageNet: batches mix captions, states and steps, and their statistics would
    belong to no single kind of picture. Folding leaves nothing to do at the size of the activations.
    """

    def __init__(self, weights, conv, norm, stride=1, act=True):
        super().__init__()
        take = lambda key: weights[key].float().clone()
        self.weight = nn.Parameter(take(conv + ".weight"))
        self.gamma = nn.Parameter(take(norm + ".weight"))
        self.beta = nn.Parameter(take(norm + ".bias"))
        self.register_buffer("mean", take(norm + ".running_mean"))
        self.register_buffer("var", take(norm + ".running_var"))
        self.stride, self.act = stride, act
        self.groups = self.weight.shape[0] if self.weight.shape[1] == 1 and self.weight.shape[-1] > 1 else 1

    def folded(self):
        scale = self.gamma * torch.rsqrt(self.var + EPS)
        return self.weight * scale.view(-1, 1, 1, 1), self.beta - self.mean * scale

    def forward(self, x):
        weight, bias = self.folded()
        k = self.weight.shape[-1]
        if k == 1:  # a matrix product with its bias in one go
            x = F.linear(x.permute(0, 2, 3, 1), weight.flatten(1).to(x.dtype), bias.to(x.dtype)).permute(0, 3, 1, 2)
            return F.relu6(x) if self.act else x
        pad = k // 2
        if self.stride == 2:  # TensorFlow's SAME padding of an even side
            low = (k - 2) // 2
            x, pad = F.pad(x, (low, k - 2 - low, low, k - 2 - low)), 0
        x = F.conv2d(x, weight.to(x.dtype), bias.to(x.dtype), self.stride, pad, 1, self.groups)
        return F.relu6(x) if self.act else x


class Block(nn.Module):
    def __init__(self, weights, prefix, stride, residual, drop):
        super().__init__()
        self.expand = ConvBn(weights, prefix + "_expand_conv", prefix + "_bn0") if prefix + "_expand_conv.weight" in weights else None
        self.depthwise = ConvBn(weights, prefix + "_depthwise_conv", prefix + "_bn1", stride)
        self.project = ConvBn(weights, prefix + "_project_conv", prefix + "_bn2", act=False)
        self.residual, self.drop = residual, drop

    def forward(self, x):
        y = self.expand(x) if self.expand is not None else x
        y = self.project(self.depthwise(y))
        if not self.residual:
            return y
        if self.training and self.drop > 0:
            keep = 1 - self.drop
            y = y * (torch.rand(len(y), 1, 1, 1, device=y.device) < keep).to(y.dtype) / keep
        return x + y


class Lite(nn.Module):
    """EfficientNet-Lite up to its pooled 1280 features."""

    def __init__(self, weights, drop_path=0.1):
        super().__init__()
        self.stem = ConvBn(weights, "_conv_stem", "_bn0", 2)
        count = 1 + max(int(k.split(".")[1]) for k in weights if k.startswith("_blocks."))
        blocks, stage, last = [], -1, None
        for i in range(count):
            out = weights[f"_blocks.{i}._project_conv.weight"].shape[0]
            first = out != last
            if first:
                stage += 1
            blocks.append(Block(weights, f"_blocks.{i}.", STRIDES[stage] if first else 1, not first, drop_path * i / count))
            last = out
        self.blocks = nn.ModuleList(blocks)
        self.head = ConvBn(weights, "_conv_head", "_bn1")

    def freeze(self, upto):
        """Keeps the stem and the first `upto` blocks as they are (all of it where upto exceeds their count)."""
        self.frozen = upto
        parts = [self.stem] * (upto > 0) + list(self.blocks[:upto]) + [self.head] * (upto > len(self.blocks))
        for part in parts:
            for p in part.parameters():
                p.requires_grad_(False)
        return self

    def lower(self, x, upto):
        """The stem and the first `upto` blocks, without gradients."""
        with torch.no_grad():
            x = self.stem(x)
            for block in self.blocks[:upto]:
                x = block(x)
        return x

    def upper(self, x, start):
        """From the output of block `start - 1` to the pooled features."""
        for i, block in enumerate(self.blocks[start:], start):
            with torch.set_grad_enabled(torch.is_grad_enabled() and i >= self.frozen):
                x = block(x)
        return self.head(x).float().mean((2, 3))

    def forward(self, x):
        return self.upper(self.lower(x, self.frozen), self.frozen)


class Head(nn.Module):
    """Standardise, then a linear map plus a small network that starts at nothing; unit length out."""

    def __init__(self, mean, std, dim, hidden, dropout, drop_in, seed, pca=None):
        super().__init__()
        self.register_buffer("mean", mean.clone())
        self.register_buffer("std", std.clone())
        gen = torch.Generator().manual_seed(seed)
        size = len(mean)
        self.linear = nn.Linear(size, dim)
        with torch.no_grad():
            first = torch.randn(dim, size, generator=gen) / size**0.5 if pca is None else pca
            self.linear.weight.copy_(first)
            self.linear.bias.zero_()
        self.up, self.down = nn.Linear(size, hidden), nn.Linear(hidden, dim)
        with torch.no_grad():
            self.up.weight.copy_(torch.randn(hidden, size, generator=gen) / size**0.5)
            self.up.bias.zero_()
            self.down.weight.zero_()
            self.down.bias.zero_()
        self.dropout, self.drop_in = dropout, drop_in

    def forward(self, x):
        x = (x - self.mean) / self.std
        x = F.dropout(x, self.drop_in, self.training)
        y = self.linear(x) + self.down(F.dropout(F.gelu(self.up(x)), self.dropout, self.training))
        return F.normalize(y, dim=1)
