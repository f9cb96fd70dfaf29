"""A training step on a CUDA GPU: ours and PyTorch's, one after the other on the same machine, both at the
paper's size and at the small one, in f32 and bf16.

    cargo bench --workspace --features cuda --bench evaluator --no-run
    python benches/evaluator_gpu.py [the bench program]

Ours copies its batch from host memory every step, as training does; PyTorch's batch stays on the GPU, and
`_sent` is the same with the batch copied every step. The first step is reported separately: it includes
loading the libraries, compiling the kernels and copying the weights.
"""

import json
import subprocess
import sys
import time

import torch
from torch import nn
from torch.nn.functional import binary_cross_entropy_with_logits

STEPS, BATCHES = 8, (24, 1024)
# inputs, d, layers, heads, hidden, activation, whether norms come first
SIZES = {"paper": (1536, 768, 4, 8, 2048, "relu", False), "small": (7, 64, 2, 4, 128, "gelu", True)}


class Evaluator(nn.Module):
    def __init__(self, inputs, d, layers, heads, hidden, activation, norm_first):
        super().__init__()
        self.project = nn.Linear(inputs, d)
        self.cls = nn.Parameter(torch.randn(d))
        self.position = nn.Embedding(33, d)
        layer = nn.TransformerEncoderLayer(
            d, heads, hidden, 0.1, activation, batch_first=True, norm_first=norm_first
        )
        norm = nn.LayerNorm(d) if norm_first else None
        self.encoder = nn.TransformerEncoder(layer, layers, norm, enable_nested_tensor=False)
        between = nn.GELU() if activation == "gelu" else nn.ReLU()
        self.head = nn.Sequential(nn.Linear(d, d), between, nn.Linear(d, 1))

    def forward(self, steps):
        b, n, _ = steps.shape
        x = torch.cat([self.cls.expand(b, 1, -1), self.project(steps)], 1)
        return self.head(self.encoder(x + self.position.weight[: n + 1])[:, 0])[:, 0]


def best(times, work):
    found = float("inf")
    for _ in range(times):
        start = time.perf_counter()
        work()
        found = min(found, time.perf_counter() - start)
    return found


class Learner:
    def __init__(self, size, dtype):
        self.model, self.dtype = Evaluator(*SIZES[size]).cuda().train(), dtype
        self.optimiser = torch.optim.Adam(self.model.parameters(), lr=3e-4, fused=True)

    def step(self, steps, labels):
        self.optimiser.zero_grad(set_to_none=True)
        with torch.autocast("cuda", self.dtype, enabled=self.dtype != torch.float32):
            loss = binary_cross_entropy_with_logits(self.model(steps), labels)
        loss.backward()
        self.optimiser.step()
        return loss.item()  # waits for the step, as training does


def theirs(size, name, dtype):
    out, inputs = {}, SIZES[size][0]
    learner = Learner(size, dtype)
    for count in BATCHES:
        steps = torch.randn(count, STEPS, inputs) * 0.05
        labels = (torch.arange(count) % 4 == 0).float()
        on_gpu = steps.cuda(), labels.cuda()
        for _ in range(5):
            learner.step(*on_gpu)
        at = f"{size}_{name}_step_{count}x8"
        out[f"{at}_s"] = best(30, lambda: learner.step(*on_gpu))
        out[f"{at}_sent_s"] = best(30, lambda: learner.step(steps.cuda(), labels.cuda()))
    return out


def ours(program):
    printed = subprocess.run([program, "cuda"], stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(printed.stdout)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        program = sys.argv[1]
    else:
        import measure

        program = measure.bench("evaluator")
    mine, rival = ours(program), {}
    for size in SIZES:
        for name, dtype in (("f32", torch.float32), ("bf16", torch.bfloat16)):
            rival |= theirs(size, name, dtype)
    ratios = {key: mine[key] / rival[key] for key in mine if key in rival}
    out = {"gpu": torch.cuda.get_device_name(), "torch": torch.__version__}
    for what, numbers in (("ours", mine), ("theirs", rival), ("ratio", ratios)):
        out[what] = {key: round(value, 6) for key, value in numbers.items()}
    print(json.dumps(out, indent=1))
