"""Train the cross-encoder: a low-rank update (LoRA) of the first six layers of all-mpnet-base-v2 and a linear head that
tell whether the text of a clip is what a step asks for.

The network reads `clip </s> step </s> title </s> previous steps`, nearest first; the tokens of clip and step are averaged.
Right are the plain wordings of the step's actions. Wrong are wordings of other steps of the procedure, wordings that are
similar to the right ones, and any. Loss: cross-entropy among the wordings of a step, and of each by itself.

    python3 train.py --model FOLDER --data FILE.jsonl... --out cross_encoder.safetensors
"""
import argparse, json, os, random, sys, time

import torch
import torch.nn.functional as F
from safetensors.torch import save_file

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "context"))
from train import Encoder, adapt, context_of, switch  # noqa: E402

CLIP_TOKENS, STEP_TOKENS, ALL_TOKENS = 40, 62, 96
NEGATIVES = 7
SAME = 0.9  # wordings closer than this to a right one are no negatives
SIMILAR = 30  # negatives are drawn among so many of the most similar wordings
POSITIVE_WEIGHT = 3.0


class CrossEncoder:
    def __init__(self, encoder, loras, layers):
        self.encoder, self.loras = encoder, {n: l for n, l in loras.items() if int(n.split(".")[2]) < layers}
        encoder.model.encoder.layer = encoder.model.encoder.layer[:layers]
        self.head = torch.nn.Linear(encoder.model.config.hidden_size, 1).to(encoder.device)

    def tokens(self, clip, step, context):
        start, end = 0, 2
        ids = self.encoder.ids
        own = [start] + ids(clip)[:CLIP_TOKENS] + [end] + ids(step)[:STEP_TOKENS] + [end]
        rest = [token for text in context for token in ids(text) + [end]]
        return (own + rest)[:ALL_TOKENS], min(len(own), ALL_TOKENS)

    def log_odds(self, inputs):
        longest, device = max(len(tokens) for tokens, _ in inputs), self.encoder.device
        ids = torch.full((len(inputs), longest), self.encoder.pad)
        attend, pool = torch.zeros(len(inputs), longest), torch.zeros(len(inputs), longest)
        for row, (tokens, own) in enumerate(inputs):
            ids[row, : len(tokens)] = torch.tensor(tokens)
            attend[row, : len(tokens)] = 1
            pool[row, :own] = 1
        pool = pool.to(device)
        hidden = self.encoder.model(ids.to(device), attention_mask=attend.to(device)).last_hidden_state.float()
        return self.head((hidden * pool[..., None]).sum(1) / pool.sum(1, keepdim=True)).squeeze(-1)

    def parameters(self):
        return [p for lora in self.loras.values() for p in (lora.a, lora.b)] + list(self.head.parameters())

    def save(self, path):
        tensors = {"head.weight": self.head.weight, "head.bias": self.head.bias}
        for name, lora in self.loras.items():
            tensors[f"{name}.a"], tensors[f"{name}.b"] = lora.a.half(), lora.b.half()
        save_file({name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}, path)


class Negatives:
    """Draws wrong wordings for the steps of procedures; `bank` has a row of the unchanged model for each wording."""

    def __init__(self, wordings, bank, rng):
        self.wordings, self.bank, self.rng, self.similar = wordings, bank, rng, {}
        self.row = {wording: i for i, wording in enumerate(wordings)}

    def near(self, right):
        key = tuple(right)
        if key not in self.similar:
            rows = torch.tensor([self.row[wording] for wording in right], device=self.bank.device)
            scores = (self.bank[rows] @ self.bank.T).amax(0)
            scores[scores > SAME] = -1
            scores[rows] = -1
            self.similar[key] = scores.topk(SIMILAR).indices.tolist()
        return self.wordings[self.rng.choice(self.similar[key])]

    def draw(self, right, of_other_steps):
        taken = self.rng.sample(of_other_steps, min(len(of_other_steps), (NEGATIVES + 1) // 2))
        while len(taken) < NEGATIVES:
            near = right and self.rng.random() < 0.7
            taken.append(self.near(right) if near else self.rng.choice(self.wordings))
        return [wording for wording in taken if wording not in right]


def steps_of(procedures):
    for p in procedures:
        lines = [step["line"] for step in p["steps"]]
        wordings = [[w for action in step["actions"] for w in action] for step in p["steps"]]
        for i, right in enumerate(wordings):
            yield p["title"], lines, i, right, [w for j, other in enumerate(wordings) if j != i for w in other]


def batch_of(steps, cross, negatives, rng):
    """Inputs with their labels, and the first and last place of each step that has a right wording."""
    inputs, labels, groups = [], [], []
    for title, lines, i, right, of_other_steps in steps:
        context = context_of(title if rng.random() < 0.85 else "", lines, i)
        line = rng.choice(right) if right and rng.random() < 0.1 else lines[i]  # a plain wording is a step too
        chosen = [rng.choice([w for w in right if w != line] or right)] if right else []
        first = len(inputs)
        for wording in chosen + negatives.draw(right, of_other_steps):
            inputs.append(cross.tokens(wording, line, context))
        labels += [1.0] * len(chosen) + [0.0] * (len(inputs) - first - len(chosen))
        groups += [(first, len(inputs))] if right else []
    return inputs, labels, groups


def train(cross, procedures, bank, wordings, epochs, rate, batch, seed):
    rng = random.Random(seed)
    torch.manual_seed(seed)
    steps, parameters = list(steps_of(procedures)), cross.parameters()
    negatives = Negatives(wordings, bank, rng)
    optimiser = torch.optim.AdamW(parameters, lr=rate, weight_decay=0.01)
    count = epochs * (len(steps) // batch)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda s: min(1, (s + 1) / 50) * max(0.0, 1 - s / count))
    model, device, begun = cross.encoder.model, cross.encoder.device, time.time()
    model.train()
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    weight = torch.tensor(POSITIVE_WEIGHT, device=device)
    for epoch in range(epochs):
        rng.shuffle(steps)
        for at in range(0, len(steps) - batch + 1, batch):
            inputs, labels, groups = batch_of(steps[at : at + batch], cross, negatives, rng)
            with torch.autocast("cuda", torch.bfloat16, enabled=device == "cuda"):
                scores = cross.log_odds(inputs)
            each = F.binary_cross_entropy_with_logits(scores, torch.tensor(labels, device=device), pos_weight=weight)
            among = torch.stack([F.log_softmax(scores[a:b], 0)[0] for a, b in groups]).mean()
            loss = each - among
            optimiser.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(parameters, 1.0)
            optimiser.step()
            schedule.step()
        print(f"epoch {epoch + 1} loss {loss.item():.3f} {time.time() - begun:.0f} s", flush=True)
    model.eval()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--model", required=True); p.add_argument("--data", nargs="+", required=True)
    p.add_argument("--out", required=True)
    p.add_argument("--layers", type=int, default=6); p.add_argument("--rank", type=int, default=64)
    p.add_argument("--rate", type=float, default=7e-4); p.add_argument("--epochs", type=int, default=16)
    p.add_argument("--batch", type=int, default=32); p.add_argument("--seed", type=int, default=1)
    a = p.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    procedures = [json.loads(line) for file in a.data for line in open(file)]
    encoder = Encoder(a.model, device)
    encoder.model.half().float()  # as the shipped weights were trained
    torch.manual_seed(a.seed)
    loras = adapt(encoder.model, a.rank, 0.1, 0)
    encoder.model.to(device)
    wordings = sorted({w for _, _, _, right, _ in steps_of(procedures) for w in right})
    switch(loras, False)
    bank = encoder.embed([encoder.tokens(wording) for wording in wordings])
    switch(loras, True)
    cross = CrossEncoder(encoder, loras, a.layers)
    train(cross, procedures, bank, wordings, a.epochs, a.rate, a.batch, a.seed)
    cross.save(a.out)


if __name__ == "__main__":
    main()
