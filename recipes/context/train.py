"""Train the context adapter: a low-rank update (LoRA) of all-mpnet-base-v2 that embeds a step in its procedure.

It updates attention and the output of the feed-forward part in the upper layers.

The query tower reads `step </s> title </s> previous steps`, nearest first, and its tokens of the step are averaged.
It learns to land on what the *unchanged* sentence model makes of plain wordings of the same action, so
libraries need no new index. Data: `data/*.jsonl`, natural procedures whose steps carry plain wordings.

    python3 train.py --model FOLDER --data data --out adapter.safetensors
    python3 train.py --model FOLDER --data data --hold-out 5    # every fifth procedure measures, nothing is written
"""
import argparse, glob, json, math, os, random, time

import torch
import torch.nn.functional as F
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer
from transformers import MPNetConfig, MPNetModel

STEP_TOKENS, ALL_TOKENS = 64, 128  # the engine cuts at the same lengths
TEMPERATURE = 0.05
SAME = 0.9  # wordings closer than this to a right one are no negatives


class Lora(torch.nn.Module):
    """x W + (x A) B: only A and B learn."""

    def __init__(self, linear, rank, dropout):
        super().__init__()
        self.linear = linear.requires_grad_(False)
        out_dim, in_dim = linear.weight.shape
        self.a = torch.nn.Parameter(torch.randn(in_dim, rank) / math.sqrt(in_dim))
        self.b = torch.nn.Parameter(torch.zeros(rank, out_dim))
        self.dropout = dropout
        self.on = True

    def forward(self, x):
        y = self.linear(x)
        if self.on:
            y = y + F.dropout(x, self.dropout, self.training) @ self.a @ self.b
        return y


def adapt(model, rank, dropout, first_layer):
    model.requires_grad_(False)
    loras = {}
    for i, layer in enumerate(model.encoder.layer):
        if i < first_layer:
            continue
        attn = layer.attention.attn
        for name in "qkvo":
            loras[f"encoder.layer.{i}.attention.attn.{name}"] = lora = Lora(getattr(attn, name), rank, dropout)
            setattr(attn, name, lora)
        loras[f"encoder.layer.{i}.output.dense"] = layer.output.dense = Lora(layer.output.dense, rank, dropout)
    return loras


class Encoder:
    def __init__(self, folder, device):
        config = MPNetConfig(**json.load(open(f"{folder}/config.json")))
        self.model = MPNetModel(config, add_pooling_layer=False)
        missing = self.model.load_state_dict(load_file(f"{folder}/model.safetensors"), strict=False)
        assert all("position_ids" in k or "pooler" in k for k in missing.missing_keys + missing.unexpected_keys), missing
        self.model.to(device).eval()
        self.tokenizer = Tokenizer.from_file(f"{folder}/tokenizer.json")
        self.tokenizer.no_truncation(); self.tokenizer.no_padding()
        self.device, self.pad = device, config.pad_token_id
        self.words = {}

    def ids(self, text):
        if text not in self.words:
            self.words[text] = self.tokenizer.encode(text, add_special_tokens=False).ids
        return self.words[text]

    def tokens(self, step, context=()):
        """The tokens of a step followed by its context, and how many of them are the step's own."""
        start, end = 0, 2
        own = [start] + self.ids(step)[: STEP_TOKENS - 2] + [end]
        rest = []
        for text in context:
            rest += self.ids(text) + [end]
        return (own + rest)[:ALL_TOKENS], len(own)

    def forward(self, inputs):
        longest = max(len(t) for t, _ in inputs)
        ids = torch.full((len(inputs), longest), self.pad)
        attend = torch.zeros(len(inputs), longest)
        pool = torch.zeros(len(inputs), longest)
        for row, (tokens, own) in enumerate(inputs):
            ids[row, : len(tokens)] = torch.tensor(tokens)
            attend[row, : len(tokens)] = 1
            pool[row, :own] = 1
        ids, attend, pool = ids.to(self.device), attend.to(self.device), pool.to(self.device)
        hidden = self.model(ids, attention_mask=attend).last_hidden_state.float()
        return F.normalize((hidden * pool[..., None]).sum(1) / pool.sum(1, keepdim=True), dim=-1)

    @torch.no_grad()
    def embed(self, inputs, size=256):
        return torch.cat([self.forward(inputs[i : i + size]) for i in range(0, len(inputs), size)])


def context_of(title, lines, i):
    """What stands after the step: the title, then earlier steps, nearest first."""
    return ([title] if title else []) + lines[:i][::-1]


def queries(procedures):
    for p in procedures:
        lines = [s["line"] for s in p["steps"]]
        for i, step in enumerate(p["steps"]):
            if step["actions"]:
                yield p, lines, i, [w for action in step["actions"] for w in action]


def switch(loras, on):
    for lora in loras.values():
        lora.on = on


def train(encoder, loras, procedures, epochs, rate, batch, seed, log=print):
    rng = random.Random(seed); torch.manual_seed(seed)
    items = list(queries(procedures))
    wordings = sorted({w for item in items for w in item[3]})
    row = {w: i for i, w in enumerate(wordings)}
    switch(loras, False)
    bank = encoder.embed([encoder.tokens(w) for w in wordings])
    switch(loras, True)
    alike = bank @ bank.T > SAME
    parameters = [p for lora in loras.values() for p in (lora.a, lora.b)]
    optimiser = torch.optim.AdamW(parameters, lr=rate, weight_decay=0.01)
    steps = epochs * (len(items) // batch)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda s: min(1, (s + 1) / 50) * max(0.0, 1 - s / steps))
    done, mean, begun = 0, 0.0, time.time()
    encoder.model.train()
    for module in encoder.model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    for epoch in range(epochs):
        rng.shuffle(items)
        for at in range(0, len(items) - batch + 1, batch):
            inputs, positives = [], []
            for p, lines, i, right in items[at : at + batch]:
                context = context_of(p["title"] if rng.random() < 0.85 else "", lines, i)
                kind = rng.random()
                if kind < 0.15:  # a plain wording stays what it is, whatever stands around it
                    own = rng.choice(right)
                    inputs.append(encoder.tokens(own, context if rng.random() < 0.5 else ()))
                    positives.append([row[w] for w in right if w != own])
                else:
                    inputs.append(encoder.tokens(lines[i], context))
                    positives.append([row[w] for w in right])
            with torch.autocast("cuda", torch.bfloat16, enabled=encoder.device == "cuda"):
                found = encoder.forward(inputs)
            scores = found @ bank.T / TEMPERATURE
            is_positive = torch.zeros_like(scores, dtype=torch.bool)
            near = torch.zeros_like(is_positive)
            for r, rows in enumerate(positives):
                is_positive[r, rows] = True
                near[r] = alike[rows].any(0)
            others = scores.masked_fill(near | is_positive, -1e4).logsumexp(1, keepdim=True)
            each = F.softplus(others - scores)  # -log p(positive against all negatives)
            loss = (each * is_positive).sum() / is_positive.sum()
            optimiser.zero_grad(); loss.backward()
            torch.nn.utils.clip_grad_norm_(parameters, 1.0)
            optimiser.step(); schedule.step()
            done += 1; mean += (loss.item() - mean) / min(done, 50)
        if epoch % 4 == 3 or epoch == epochs - 1:
            log(f"epoch {epoch + 1} loss {mean:.3f} {time.time() - begun:.0f} s")
    encoder.model.eval()


def save(loras, path):
    tensors = {}
    for name, lora in loras.items():
        tensors[f"{name}.a"] = lora.a.detach().half().cpu().contiguous()
        tensors[f"{name}.b"] = lora.b.detach().half().cpu().contiguous()
    save_file(tensors, path)


def load(loras, path):
    tensors = load_file(path)
    for name, lora in loras.items():
        lora.a.data, lora.b.data = tensors[f"{name}.a"].float(), tensors[f"{name}.b"].float()
    return loras


def measure(encoder, loras, procedures, everything):
    """The share of steps whose nearest wording, among those of all procedures, is a right one: by the step alone
    with the unchanged model, and in context with the adapter."""
    items = list(queries(procedures))
    wordings = sorted({w for item in queries(everything) for w in item[3]})
    switch(loras, False)
    bank = encoder.embed([encoder.tokens(w) for w in wordings])
    alone = encoder.embed([encoder.tokens(lines[i]) for _, lines, i, _ in items])
    switch(loras, True)
    found = encoder.embed([encoder.tokens(lines[i], context_of(p["title"], lines, i)) for p, lines, i, _ in items])
    for name, rows in (("alone, unchanged", alone), ("in context, adapted", found)):
        best = (rows @ bank.T).argmax(1).tolist()
        right = sum(wordings[b] in item[3] for b, item in zip(best, items))
        print(f"{name}: {100 * right / len(items):.1f} % of {len(items)} steps among {len(wordings)} wordings")


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--model", required=True); p.add_argument("--data", nargs="+", required=True); p.add_argument("--out")
    p.add_argument("--rank", type=int, default=16); p.add_argument("--first-layer", type=int, default=4)
    p.add_argument("--rate", type=float, default=1e-3); p.add_argument("--epochs", type=int, default=8)
    p.add_argument("--batch", type=int, default=64); p.add_argument("--dropout", type=float, default=0.1)
    p.add_argument("--seed", type=int, default=1); p.add_argument("--hold-out", type=int, default=0)
    a = p.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    encoder = Encoder(a.model, device)
    procedures = [json.loads(l) for folder in a.data for f in sorted(glob.glob(f"{folder}/*.jsonl")) for l in open(f)]
    torch.manual_seed(a.seed)
    loras = adapt(encoder.model, a.rank, a.dropout, a.first_layer)
    encoder.model.to(device)
    held_out = procedures[:: a.hold_out] if a.hold_out else []
    train(encoder, loras, [p for p in procedures if p not in held_out], a.epochs, a.rate, a.batch, a.seed)
    if held_out:
        measure(encoder, loras, held_out, procedures)
    if a.out:
        save(loras, a.out)


if __name__ == "__main__":
    main()
