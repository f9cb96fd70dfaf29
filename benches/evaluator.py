"""One step of training and 500 candidates scored by PyTorch, at the paper's size: the yardstick of
crates/lab/benches/evaluator.rs.

    python benches/evaluator.py [cuda]
"""

import json
import os
import sys
import time

import torch
from torch import nn
from torch.nn.functional import binary_cross_entropy_with_logits

E, D, STEPS = 768, 768, 8
DEVICE = "cuda" if "cuda" in sys.argv else "cpu"
torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", os.cpu_count())))


class Evaluator(nn.Module):
    def __init__(self):
        super().__init__()
        self.project = nn.Linear(2 * E, D)
        self.cls = nn.Parameter(torch.randn(D))
        self.position = nn.Embedding(33, D)
        layer = nn.TransformerEncoderLayer(D, 8, 2048, 0.1, "relu", batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 4, enable_nested_tensor=False)
        self.head = nn.Sequential(nn.Linear(D, D), nn.ReLU(), nn.Linear(D, 1))

    def forward(self, steps):
        b, n, _ = steps.shape
        x = torch.cat([self.cls.expand(b, 1, -1), self.project(steps)], 1)
        return self.head(self.encoder(x + self.position.weight[: n + 1])[:, 0])[:, 0]


def best(times, work):
    found = float("inf")
    for _ in range(times):
        begun = time.perf_counter()
        work()
        if DEVICE == "cuda":
            torch.cuda.synchronize()
        found = min(found, time.perf_counter() - begun)
    return found


def step(model, count, fused, dtype=torch.float32):
    model.train()
    optimiser = torch.optim.Adam(model.parameters(), lr=3e-4, fused=fused)
    steps = torch.randn(count, STEPS, 2 * E, device=DEVICE) * 0.05
    labels = (torch.arange(count, device=DEVICE) % 4 == 0).float()

    def work():
        optimiser.zero_grad(set_to_none=True)
        with torch.autocast(DEVICE, dtype, enabled=dtype != torch.float32):
            loss = binary_cross_entropy_with_logits(model(steps), labels)
        loss.backward()
        optimiser.step()

    work()
    return best(8, work)


def score(model):
    model.eval()
    steps = torch.randn(500, STEPS, 2 * E, device=DEVICE) * 0.05
    with torch.inference_mode():
        return best(4, lambda: model(steps))


model = Evaluator().to(DEVICE)
if DEVICE == "cuda":
    out = {
        "torch_cuda_step_24x8_s": step(model, 24, True),
        "torch_cuda_step_1024x8_s": step(model, 1024, True),
        "torch_cuda_step_1024x8_bf16_s": step(model, 1024, True, torch.bfloat16),
    }
else:
    out = {
        "torch_step_24x8_s": step(model, 24, False),
        "torch_step_24x8_fused_adam_s": step(model, 24, True),
        "torch_score_500x8_s": score(model),
    }
print(json.dumps({name: round(value, 5) for name, value in out.items()}))
