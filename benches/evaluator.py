"""One training step and 500 scored candidates with PyTorch on the CPU, at the paper's size, to compare with
crates/lab/benches/evaluator.rs. evaluator_gpu.py is the same on a GPU.

    python benches/evaluator.py
"""

import json
import os

import torch
from torch.nn.functional import binary_cross_entropy_with_logits

from evaluator_gpu import SIZES, STEPS, Evaluator, best

INPUTS = SIZES["paper"][0]
torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", os.cpu_count())))


def step(model, count, fused):
    model.train()
    optimiser = torch.optim.Adam(model.parameters(), lr=3e-4, fused=fused)
    steps = torch.randn(count, STEPS, INPUTS) * 0.05
    labels = (torch.arange(count) % 4 == 0).float()

    def work():
        optimiser.zero_grad(set_to_none=True)
        binary_cross_entropy_with_logits(model(steps), labels).backward()
        optimiser.step()

    work()
    return best(8, work)


def score(model):
    model.eval()
    steps = torch.randn(500, STEPS, INPUTS) * 0.05
    with torch.inference_mode():
        return best(4, lambda: model(steps))


model = Evaluator(*SIZES["paper"])
out = {
    "torch_step_24x8_s": step(model, 24, False),
    "torch_step_24x8_fused_adam_s": step(model, 24, True),
    "torch_score_500x8_s": score(model),
}
print(json.dumps({name: round(value, 5) for name, value in out.items()}))
