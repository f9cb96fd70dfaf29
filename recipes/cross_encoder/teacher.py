"""Train the teacher of the cross-encoder and write its scores as soft labels: Qwen2.5-Coder-1.5B with a low-rank update (LoRA) tells which
texts are what a step asks for.

The network reads title, previous steps and the step once, and behind them each candidate text by itself (a mask hides the
candidates from each other); a linear head judges the last token of each. Procedures are split in two halves. A teacher that
learnt from one half judges the other, so that no step is scored by a teacher that was trained on it.

    python3 teacher.py --model FOLDER --gguf FILE --sentences FOLDER --adapter adapter.safetensors --data FILE.jsonl... --out soft-labels.jsonl
"""
import argparse, json, math, os, random, sys, time

import torch
import torch.nn.functional as F
from transformers import AutoModel, AutoTokenizer

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "context"))
from train import Encoder, adapt, context_of, load, switch  # noqa: E402

PREFIX_TOKENS, TEXT_TOKENS, STEPS_BEFORE = 190, 40, 6
NEGATIVES, CANDIDATES = 9, 28
SAME = 0.9  # wordings closer than this to a right one are no negatives
MASKED = -30000.0  # with the least number of bfloat16 and cuDNN's attention the loss was NaN; both were changed at once
POSITIVE_WEIGHT = 3.0


class Lora(torch.nn.Module):
    def __init__(self, linear, rank, scale=2.0):
        super().__init__()
        self.linear, self.scale = linear, scale
        out_dim, in_dim = linear.weight.shape
        self.a = torch.nn.Parameter(torch.randn(in_dim, rank) / math.sqrt(in_dim))
        self.b = torch.nn.Parameter(torch.zeros(rank, out_dim))

    def forward(self, x):
        return self.linear(x) + x @ self.a.to(x.dtype) @ self.b.to(x.dtype) * self.scale


class Teacher(torch.nn.Module):
    def __init__(self, folder, gguf, rank):
        super().__init__()
        self.tokenizer = AutoTokenizer.from_pretrained(folder, gguf_file=gguf)
        self.model = AutoModel.from_pretrained(folder, gguf_file=gguf, dtype=torch.bfloat16, attn_implementation="sdpa")
        self.model.requires_grad_(False)
        self.loras = torch.nn.ModuleList()
        for layer in self.model.layers:
            for part, names in ((layer.self_attn, "qkvo"), (layer.mlp, ("gate", "up", "down"))):
                for name in names:
                    lora = Lora(getattr(part, f"{name}_proj"), rank)
                    setattr(part, f"{name}_proj", lora)
                    self.loras.append(lora)
        self.head = torch.nn.Linear(self.model.config.hidden_size, 1)

    def ids(self, text):
        return self.tokenizer(text, add_special_tokens=False).input_ids

    def prefix(self, title, lines, i):
        before = "".join(f"\n{k + 1}. {line}" for k, line in list(enumerate(lines[:i]))[-STEPS_BEFORE:])
        text = f"A person follows these instructions.\nTitle: {title or '-'}{before}\nThe step: {lines[i]}\nWhich clips show the step?"
        return self.ids(text)[-PREFIX_TOKENS:]

    def candidate(self, text):
        return self.ids("\nClip: " + text)[:TEXT_TOKENS] + self.ids(" ->")

    def forward(self, batch):
        """Log-odds for each of (prefix, candidates), all as tokens."""
        device, length = self.head.weight.device, max(len(p) + sum(map(len, c)) for p, c in batch)
        length = math.ceil(length / 8) * 8
        ids = torch.zeros(len(batch), length, dtype=torch.long)
        positions, block, last = torch.zeros_like(ids), torch.full_like(ids, -1), []
        for row, (prefix, candidates) in enumerate(batch):
            at = 0
            for k, tokens in enumerate([prefix, *candidates]):
                end, begin = at + len(tokens), 0 if k == 0 else len(prefix)
                ids[row, at:end] = torch.tensor(tokens)
                positions[row, at:end] = torch.arange(begin, begin + len(tokens))
                block[row, at:end] = k
                at = end
                last += [row * length + end - 1] if k else []
        ids, positions, block = ids.to(device), positions.to(device), block.to(device)
        sees = (block[:, :, None] == block[:, None]) | (block[:, None] == 0)
        sees &= torch.ones(length, length, dtype=torch.bool, device=device).tril()
        mask = torch.zeros(len(batch), 1, length, length, device=device, dtype=torch.bfloat16).masked_fill_(~sees[:, None], MASKED)
        hidden = self.model(input_ids=ids, attention_mask=mask, position_ids=positions, use_cache=False).last_hidden_state
        odds = self.head(hidden.flatten(0, 1)[last].float()).squeeze(-1)
        return odds.split([len(candidates) for _, candidates in batch])


class Wordings:
    """All wordings with their vectors of the sentence model, to draw similar ones."""

    def __init__(self, steps, sentences, adapter, rng):
        self.all, self.rng, self.similar = sorted({w for step in steps for w in step["right"]}), rng, {}
        self.row = {wording: i for i, wording in enumerate(self.all)}
        self.sentences, self.adapter = sentences, adapter
        switch(adapter, False)
        self.bank = sentences.embed([sentences.tokens(wording) for wording in self.all])

    def found(self, step, count=80):
        """Those that the search would find first for the step, written and in context."""
        title, lines, i = step["title"], step["lines"], step["i"]
        switch(self.adapter, False)
        query = self.sentences.embed([self.sentences.tokens(lines[i])])[0]
        switch(self.adapter, True)
        query = query + 2 * self.sentences.embed([self.sentences.tokens(lines[i], context_of(title, lines, i))])[0]
        return [self.all[k] for k in (self.bank @ query).topk(count).indices.tolist()]

    def near(self, right, count, same):
        key = (right[0], count, same)
        if key not in self.similar:
            rows = torch.tensor([self.row[wording] for wording in right], device=self.bank.device)
            scores = (self.bank[rows] @ self.bank.T).amax(0)
            scores[scores > same] = -1
            scores[rows] = -1
            self.similar[key] = scores.topk(count).indices.tolist()
        return self.similar[key]

    def negatives(self, step):
        taken = self.rng.sample(step["others"], min(len(step["others"]), 4))
        while len(taken) < NEGATIVES:
            similar = step["right"] and self.rng.random() < 0.7
            taken.append(self.all[self.rng.choice(self.near(step["right"], 40, SAME))] if similar else self.rng.choice(self.all))
        return [wording for wording in taken if wording not in step["right"]]

    def candidates(self, step):
        right, others = step["right"], step["others"]
        taken = self.rng.sample(right, min(len(right), 4)) + self.rng.sample(others, min(len(others), 7))
        taken += [self.all[i] for i in self.rng.sample(self.near(right, 50, 1.1), 5)] if right else []
        taken += self.rng.sample(self.found(step), 9)
        taken += self.rng.sample(self.all, max(2, CANDIDATES - len(taken)))
        return list(dict.fromkeys(taken))


def steps_of(procedure):
    lines = [step["line"] for step in procedure["steps"]]
    wordings = [[w for action in step["actions"] for w in action] for step in procedure["steps"]]
    for i, right in enumerate(wordings):
        others = [w for j, other in enumerate(wordings) if j != i for w in other]
        yield {"title": procedure["title"], "lines": lines, "i": i, "right": right, "others": others}


def loss_of(odds, right):
    """Each candidate by itself, and each right one among the wrong ones; the first `right` are right."""
    truth = torch.zeros_like(odds)
    truth[:right] = 1
    loss = F.binary_cross_entropy_with_logits(odds, truth, pos_weight=torch.tensor(POSITIVE_WEIGHT, device=odds.device))
    for k in range(right):
        loss = loss - F.log_softmax(torch.cat([odds[k : k + 1], odds[right:]]), 0)[0] / right
    return loss


def train(teacher, steps, wordings, rate, batch, rng):
    updates = [p for lora in teacher.loras for p in (lora.a, lora.b)]
    optimiser = torch.optim.AdamW([{"params": updates, "lr": rate}, {"params": teacher.head.parameters(), "lr": 1e-3}], weight_decay=0.01)
    count, begun = len(steps) // batch, time.time()
    schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda s: min(1, (s + 1) / 30) * max(0.02, 1 - s / count))
    rng.shuffle(steps)
    for at in range(0, count * batch, batch):
        inputs, right = [], []
        for step in steps[at : at + batch]:
            title = step["title"] if rng.random() < 0.85 else ""
            texts = rng.sample(step["right"], min(2, len(step["right"])))
            right.append(len(texts))
            texts = texts + wordings.negatives(step)
            inputs.append((teacher.prefix(title, step["lines"], step["i"]), [teacher.candidate(text) for text in texts]))
        loss = sum(loss_of(odds, n) for odds, n in zip(teacher(inputs), right)) / batch
        optimiser.zero_grad(); loss.backward()
        torch.nn.utils.clip_grad_norm_(updates, 1.0)
        optimiser.step(); schedule.step()
        if at // batch % 50 == 0:
            print(f"{at // batch} of {count}: loss {loss.item():.3f}, {time.time() - begun:.0f} s", flush=True)


@torch.no_grad()
def judge(teacher, steps, wordings, out, batch=12):
    best = []
    for at in range(0, len(steps), batch):
        some = steps[at : at + batch]
        texts = [wordings.candidates(step) for step in some]
        inputs = [(teacher.prefix(s["title"], s["lines"], s["i"]), [teacher.candidate(t) for t in c]) for s, c in zip(some, texts)]
        for step, candidates, odds in zip(some, texts, teacher(inputs)):
            best += [candidates[odds.argmax()] in step["right"]] if step["right"] else []
            out.write(json.dumps({**step, "texts": candidates, "odds": [round(x, 3) for x in odds.tolist()]}) + "\n")
    print(f"best of {CANDIDATES} is right: {sum(best) / len(best):.3f} of {len(best)} steps of the other half", flush=True)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--model", required=True); p.add_argument("--gguf", required=True); p.add_argument("--sentences", required=True)
    p.add_argument("--adapter", required=True)
    p.add_argument("--data", nargs="+", required=True); p.add_argument("--out", required=True)
    p.add_argument("--rank", type=int, default=16); p.add_argument("--rate", type=float, default=2e-4)
    p.add_argument("--batch", type=int, default=16)
    a = p.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.backends.cuda.enable_cudnn_sdp(False)
    procedures = [list(steps_of(json.loads(line))) for file in a.data for line in open(file)]
    sentences = Encoder(a.sentences, device)
    adapter = load(adapt(sentences.model, 16, 0.0, 4), a.adapter)
    sentences.model.to(device)
    with open(a.out, "w") as out:
        for half in (0, 1):
            rng = random.Random(half)
            torch.manual_seed(half)
            wordings = Wordings([step for steps in procedures for step in steps], sentences, adapter, rng)
            teacher = Teacher(a.model, a.gguf, a.rank).to(device)
            train(teacher, [s for steps in procedures[1 - half :: 2] for s in steps], wordings, a.rate, a.batch, rng)
            judge(teacher, [s for steps in procedures[half::2] for s in steps], wordings, out)


if __name__ == "__main__":
    main()
