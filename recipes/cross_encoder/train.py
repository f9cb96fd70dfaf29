"""Train the cross-encoder: a low-rank update (LoRA) of the first six layers of all-mpnet-base-v2 and a linear head that
tell whether the text of a clip is what a step asks for.

The network reads `clip </s> step </s> title </s> previous steps`, nearest first; the tokens of clip and step are averaged.
Right are the plain wordings of the step's actions. The other texts of a step, and how right they are, come from the
teacher (`teacher.py`). Loss: cross-entropy among the texts of a step, and of each by itself, halfway between the
teacher's probabilities and the truth.

    python3 train.py --model FOLDER --soft-labels soft-labels.jsonl --out cross_encoder.safetensors
"""
import argparse, json, os, random, sys, time

import torch
import torch.nn.functional as F
from safetensors.torch import save_file

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "context"))
from train import Encoder, adapt, context_of  # noqa: E402

CLIP_TOKENS, STEP_TOKENS, ALL_TOKENS = 40, 62, 96
TEXTS = 8  # of a step in a batch
CONFUSING = 12  # half of the wrong texts are drawn among so many that the teacher likes best
TRUTH = 0.5  # share of the hard labels in the target; the rest is soft
NOTHING_RIGHT = 0.3  # weight of the comparison among texts of a step that has no right one


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


def texts_of(step, line, rng):
    """Places of the texts to learn from: a right one first where there is one, then wrong ones."""
    texts, odds = step["texts"], step["odds"]
    right = [k for k, text in enumerate(texts) if text in step["right"]]
    wrong = sorted((k for k in range(len(texts)) if k not in right), key=lambda k: -odds[k])
    taken = [rng.choice([k for k in right if texts[k] != line] or right)] if right else []
    taken += rng.sample(wrong[:CONFUSING], min(len(wrong), TEXTS // 2))
    rest = [k for k in wrong if k not in taken]
    return taken + rng.sample(rest, min(len(rest), TEXTS - len(taken))), bool(right)


def batch_of(steps, cross, rng):
    """Inputs, the teacher's log-odds, the truth, and for each step its first and last place and whether a text is right."""
    inputs, odds, truth, groups = [], [], [], []
    for step in steps:
        lines, i, right = step["lines"], step["i"], step["right"]
        context = context_of(step["title"] if rng.random() < 0.85 else "", lines, i)
        line = rng.choice(right) if right and rng.random() < 0.1 else lines[i]  # a plain wording is a step too
        taken, has_right = texts_of(step, line, rng)
        groups.append((len(inputs), len(inputs) + len(taken), has_right))
        inputs += [cross.tokens(step["texts"][k], line, context) for k in taken]
        odds += [step["odds"][k] for k in taken]
        truth += [float(has_right and n == 0) for n in range(len(taken))]
    return inputs, odds, truth, groups


def loss_of(scores, odds, truth, groups):
    target = TRUTH * truth + (1 - TRUTH) * torch.sigmoid(odds)
    each = F.binary_cross_entropy_with_logits(scores, target, weight=1 + 2 * target)
    among = 0
    for begin, end, has_right in groups:
        share = F.softmax(odds[begin:end], 0)
        if has_right:
            share = TRUTH * truth[begin:end] + (1 - TRUTH) * share
        among = among - (share * F.log_softmax(scores[begin:end], 0)).sum() * (1 if has_right else NOTHING_RIGHT)
    return each + among / len(groups)


def train(cross, steps, epochs, rate, batch, seed):
    rng = random.Random(seed)
    torch.manual_seed(seed)
    parameters = cross.parameters()
    optimiser = torch.optim.AdamW(parameters, lr=rate, weight_decay=0.01)
    count = epochs * (len(steps) // batch)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda s: min(1, (s + 1) / 50) * max(0.0, 1 - s / count))
    model, device, begun = cross.encoder.model, cross.encoder.device, time.time()
    model.train()
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    for epoch in range(epochs):
        rng.shuffle(steps)
        for at in range(0, len(steps) - batch + 1, batch):
            inputs, odds, truth, groups = batch_of(steps[at : at + batch], cross, rng)
            with torch.autocast("cuda", torch.bfloat16, enabled=device == "cuda"):
                scores = cross.log_odds(inputs)
            loss = loss_of(scores, torch.tensor(odds, device=device), torch.tensor(truth, device=device), groups)
            optimiser.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(parameters, 1.0)
            optimiser.step()
            schedule.step()
        print(f"epoch {epoch + 1} loss {loss.item():.3f} {time.time() - begun:.0f} s", flush=True)
    model.eval()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--model", required=True); p.add_argument("--soft-labels", required=True); p.add_argument("--out", required=True)
    p.add_argument("--layers", type=int, default=6); p.add_argument("--rank", type=int, default=64)
    p.add_argument("--rate", type=float, default=7e-4); p.add_argument("--epochs", type=int, default=12)
    p.add_argument("--batch", type=int, default=32); p.add_argument("--seed", type=int, default=1)
    a = p.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    encoder = Encoder(a.model, device)
    encoder.model.half().float()  # as the shipped weights were trained
    torch.manual_seed(a.seed)
    loras = adapt(encoder.model, a.rank, 0.1, 0)
    encoder.model.to(device)
    cross = CrossEncoder(encoder, loras, a.layers)
    train(cross, [json.loads(line) for line in open(a.soft_labels)], a.epochs, a.rate, a.batch, a.seed)
    cross.save(a.out)


if __name__ == "__main__":
    main()
