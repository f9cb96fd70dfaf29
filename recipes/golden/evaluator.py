"""Makes the golden files of the evaluator, in crates/engine/tests/data/tiny-evaluator-{post,pre}:
a small random evaluator as a PyTorch module, and the logits it gives.

    python recipes/golden/evaluator.py            # makes them
    python recipes/golden/evaluator.py FOLDER     # loads an evaluator saved by stitch, strictly

Needs torch and safetensors; made with torch 2.15.
"""

import json
import sys
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from torch import nn

DATA = Path(__file__).resolve().parents[2] / "crates/engine/tests/data"


class Evaluator(nn.Module):
    def __init__(self, c):
        super().__init__()
        d, activation = c["width"], {"relu": nn.ReLU, "gelu": nn.GELU}[c["activation"]]()
        self.project = nn.Linear(2 * c["encoder"]["dim"], d)
        self.cls = nn.Parameter(torch.randn(d))
        self.position = nn.Embedding(1 + c["max_steps"], d)
        layer = nn.TransformerEncoderLayer(
            d, c["heads"], c["hidden"], c["dropout"], c["activation"],
            batch_first=True, norm_first=c["norm_first"],
        )
        last = nn.LayerNorm(d) if c["norm_first"] else None
        self.encoder = nn.TransformerEncoder(layer, c["layers"], last, enable_nested_tensor=False)
        self.head = nn.Sequential(nn.Linear(d, d), activation, nn.Linear(d, 1))

    def forward(self, steps, lengths):  # [B, N, 2e], [B] -> [B]
        b, n, _ = steps.shape
        x = torch.cat([self.cls.expand(b, 1, -1), self.project(steps)], 1)
        x = x + self.position.weight[: n + 1]
        padding = torch.arange(n + 1)[None] > lengths[:, None]
        return self.head(self.encoder(x, src_key_padding_mask=padding)[:, 0])[:, 0]


def config(norm_first, activation):
    return {
        "kind": "evaluator", "encoder": {"name": "test", "dim": 6, "weights": "00"},
        "domain": "test", "width": 16, "layers": 3, "heads": 4, "hidden": 24, "dropout": 0.1,
        "norm_first": norm_first, "activation": activation, "max_steps": 5,
    }


def make(name, norm_first, activation):
    torch.manual_seed(11)
    folder = DATA / f"tiny-evaluator-{name}"
    folder.mkdir(parents=True, exist_ok=True)
    c = config(norm_first, activation)
    model = Evaluator(c).eval()
    for tensor in model.parameters():  # zeros and ones would hide mistakes
        tensor.data += 0.2 * torch.randn_like(tensor)
    steps, lengths = torch.randn(4, 5, 12), torch.tensor([5, 1, 3, 4])
    halves = nn.functional.normalize(steps.reshape(4, 5, 2, 6), dim=-1).reshape(4, 5, 12)
    with torch.no_grad():
        logits = model(halves, lengths)
    (folder / "config.json").write_text(json.dumps(c, indent=2) + "\n")
    save_file(model.state_dict(), folder / "model.safetensors")
    golden = {"steps": halves.flatten().tolist(), "lengths": lengths.tolist(), "logits": logits.tolist()}
    (folder / "golden.json").write_text(json.dumps(golden) + "\n")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        folder = Path(sys.argv[1])
        model = Evaluator(json.loads((folder / "config.json").read_text()))
        model.load_state_dict(load_file(folder / "model.safetensors"))
        print("loads")
    else:
        make("post", False, "relu")
        make("pre", True, "gelu")
