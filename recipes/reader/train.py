"""Train the reader: a low-rank update (LoRA) of all-mpnet-base-v2 and a linear head that tell the steps of a document
from its title and everything else.

The network reads the whole document in one pass, a `</s>` after every line and one more for every blank line. The
tokens of each sentence are averaged; the head gives one of four labels: other, title, a step begins, a step goes on.

    python3 train.py --model FOLDER --data FILE.jsonl... --out reader.safetensors
    python3 train.py --model FOLDER --data FILE.jsonl... --measure FILE.jsonl...    # learns from the first, measures on the second
"""
import argparse, json, math, os, random, re, sys, time

import torch
import torch.nn.functional as F
from safetensors.torch import save_file

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "context"))
from train import Encoder, adapt  # noqa: E402

OTHER, TITLE, BEGIN, GO_ON = range(4)
MAX_TOKENS = 384  # of a pass; the engine cuts at the same length
SHORT = {"tbsp", "tsp", "oz", "lb", "lbs", "approx", "no", "min", "mins", "hr", "hrs", "e.g", "i.e", "dr"}


def closes(word):
    bare = word.rstrip("\"'”’)")
    return bare[-1:] in tuple(".!?…。") and bare[:-1].lower() not in SHORT


def sentences(line):
    """The sentences of a line as spans of characters."""
    words = [m.span() for m in re.finditer(r"\S+", line)]
    pairs = [(line[a:b], line[c:d]) for (a, b), (c, d) in zip(words, words[1:])]
    small = line.strip()[:1].islower() and not any(next[0].isupper() for word, next in pairs if closes(word))
    spans, start = [], None
    for i, (a, b) in enumerate(words):
        start = a if start is None else start
        begins = i + 1 < len(words) and (small or not line[words[i + 1][0]].islower())
        mark = a == start and re.fullmatch(r"\W*\d{1,3}\W*", line[a:b])
        if i + 1 == len(words) or begins and closes(line[a:b]) and not mark:
            spans.append((start, b))
            start = None
    return spans


def document(text):
    """Lines, each a list of (begin, end) of its sentences in the text."""
    lines, at = [], 0
    for line in text.split("\n"):
        lines.append([(at + a, at + b) for a, b in sentences(line)])
        at += len(line) + 1
    return lines


def spans(text, parts):
    """Where each part stands in the text, in order; wrapped lines match any white space."""
    found, at = [], 0
    for part in parts:
        words = [re.escape(w) for w in part.split()]
        match = words and re.compile(r"\s+".join(words)).search(text, at)
        if match:
            found.append(match.span())
            at = match.end()
    return found


def labelled(p):
    """A procedure as lines of (sentence, label)."""
    text = p["text"]
    titles = spans(text, [p["title"]]) if p.get("title") else []
    steps = spans(text, [s["line"] for s in p["steps"]])
    titles = [t for t in titles if not any(a < t[1] and t[0] < b for a, b in steps)]
    inside = lambda s, spans: next((i for i, (a, b) in enumerate(spans) if min(b, s[1]) - max(a, s[0]) > 0.5 * min(b - a, s[1] - s[0])), None)
    lines, last = [], None
    for line in document(text):
        row = []
        for s in line:
            step = inside(s, steps)
            label = (GO_ON if step == last else BEGIN) if step is not None else TITLE if inside(s, titles) is not None else OTHER
            last = step if step is not None else last
            row.append((text[s[0]:s[1]], label))
        lines.append(row)
    return lines


def vary(lines, rng):
    """The same document with marks, blank lines or full stops missing."""
    if rng.random() < 0.15:
        lines = [[(re.sub(r"^([-*•]|\(?\d{1,2}[.)])\s+", "", t) if i == 0 else t, l) for i, (t, l) in enumerate(line)] for line in lines]
    if rng.random() < 0.1:
        lines = [line for line in lines if line]
    if rng.random() < 0.1:
        lines = [[(t.rstrip("."), l) if i == len(line) - 1 else (t, l) for i, (t, l) in enumerate(line)] for line in lines]
    if rng.random() < 0.1:
        lines = lines[rng.randrange(max(1, len(lines) // 2)):]
    return lines


def passes(encoder, lines):
    """The document as passes of at most MAX_TOKENS: tokens, the span of each sentence in them, labels."""
    out, tokens, places, labels = [], [0], [], []
    for line in lines:
        ids = [encoder.ids(t)[:128] for t, _ in line]
        if places and len(tokens) + sum(map(len, ids)) + 1 > MAX_TOKENS:
            out.append((tokens, places, labels))
            tokens, places, labels = [0], [], []
        for words, (_, label) in zip(ids, line):
            if words and len(tokens) + len(words) < MAX_TOKENS:
                places.append((len(tokens), len(tokens) + len(words)))
                labels.append(label)
                tokens = tokens + words
        tokens = tokens + [2]
    return out + [(tokens[:MAX_TOKENS], places, labels)]


def forward(encoder, head, batch):
    longest = max(len(t) for t, _, _ in batch)
    ids = torch.full((len(batch), longest), encoder.pad)
    attend = torch.zeros(len(batch), longest)
    rows = sum(len(p) for _, p, _ in batch)
    pool = torch.zeros(rows, len(batch) * longest)
    row = 0
    for r, (tokens, places, _) in enumerate(batch):
        ids[r, : len(tokens)] = torch.tensor(tokens)
        attend[r, : len(tokens)] = 1
        for a, b in places:
            pool[row, r * longest + a : r * longest + b] = 1 / (b - a)
            row += 1
    hidden = encoder.model(ids.to(encoder.device), attention_mask=attend.to(encoder.device)).last_hidden_state.float()
    return head(pool.to(encoder.device) @ hidden.flatten(0, 1))


def train(encoder, loras, head, documents, a, log=print):
    rng = random.Random(a.seed)
    parameters = [p for lora in loras.values() for p in (lora.a, lora.b)] + list(head.parameters())
    optimiser = torch.optim.AdamW(parameters, lr=a.rate, weight_decay=0.01)
    steps = a.epochs * math.ceil(len(documents) / a.batch)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda s: min(1, (s + 1) / 30) * max(0.0, 1 - s / steps))
    encoder.model.train()
    for module in encoder.model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    begun = time.time()
    for epoch in range(a.epochs):
        rng.shuffle(documents)
        mean = []
        for at in range(0, len(documents), a.batch):
            batch = [p for d in documents[at : at + a.batch] for p in passes(encoder, vary(d, rng)) if p[1]]
            with torch.autocast("cuda", torch.bfloat16, enabled=encoder.device == "cuda"):
                scores = forward(encoder, head, batch)
            loss = F.cross_entropy(scores.float(), torch.tensor([l for b in batch for l in b[2]], device=encoder.device), label_smoothing=0.02)
            optimiser.zero_grad(); loss.backward()
            torch.nn.utils.clip_grad_norm_(parameters, 1.0)
            optimiser.step(); schedule.step()
            mean.append(loss.item())
        if epoch % 4 == 3 or epoch == a.epochs - 1:
            log(f"epoch {epoch + 1} loss {sum(mean) / len(mean):.3f} {time.time() - begun:.0f} s", flush=True)
    encoder.model.eval()


@torch.no_grad()
def measure(encoder, head, documents, name, show=0):
    counts = [[0] * 4 for _ in range(4)]
    shown = []
    for d in documents:
        flat = [x for line in d for x in line]
        scores = torch.cat([forward(encoder, head, [p]) for p in passes(encoder, d) if p[1]])
        told = scores.argmax(1).tolist()
        for (text, label), guess in zip(flat, told):
            counts[label][guess] += 1
            if label != guess and (label < BEGIN) != (guess < BEGIN):
                shown.append(f"{'OTBG'[label]}>{'OTBG'[guess]} {text}")
    steps = sum(counts[BEGIN]) + sum(counts[GO_ON])
    lost = sum(counts[l][g] for l in (BEGIN, GO_ON) for g in (OTHER, TITLE))
    extra = sum(counts[l][g] for l in (OTHER, TITLE) for g in (BEGIN, GO_ON))
    print(f"{name}: {len(documents)} documents, {steps} sentences of steps, {lost} lost ({100 * lost / steps:.2f} %), "
          f"{extra} others read as steps ({100 * extra / steps:.2f} %); rows true, columns told (other, title, begin, go on): {counts}", flush=True)
    for line in shown[:show]:
        print("   ", line)


def save(loras, head, path):
    tensors = {f"{name}.{part}": getattr(lora, part).detach().half().cpu().contiguous() for name, lora in loras.items() for part in "ab"}
    tensors["head.weight"], tensors["head.bias"] = head.weight.detach().half().cpu(), head.bias.detach().half().cpu()
    save_file(tensors, path)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--model", required=True); p.add_argument("--data", nargs="+", required=True)
    p.add_argument("--measure", nargs="*", default=[]); p.add_argument("--out"); p.add_argument("--show", type=int, default=0)
    p.add_argument("--rank", type=int, default=16); p.add_argument("--first-layer", type=int, default=4)
    p.add_argument("--rate", type=float, default=5e-4); p.add_argument("--epochs", type=int, default=20)
    p.add_argument("--batch", type=int, default=16); p.add_argument("--dropout", type=float, default=0.1)
    p.add_argument("--seed", type=int, default=1)
    a = p.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    read = lambda files: [labelled(json.loads(l)) for f in files for l in open(f)]
    torch.manual_seed(a.seed)
    encoder = Encoder(a.model, device)
    loras = adapt(encoder.model, a.rank, a.dropout, a.first_layer)
    encoder.model.to(device)
    head = torch.nn.Linear(encoder.model.config.hidden_size, 4).to(device)
    train(encoder, loras, head, read(a.data), a)
    for f in a.measure:
        measure(encoder, head, read([f]), os.path.basename(f), a.show)
    if a.out:
        save(loras, head, a.out)


if __name__ == "__main__":
    main()
