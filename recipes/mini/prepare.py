"""From the data folder to a pack: picture bytes in a few files, one list of items, one list of texts.

Nothing is decoded here: the pack holds the WebP and JPEG bytes as they came, so that it stays small enough to carry to
another machine. Text variants (dropped words, clauses, state phrases) are made here, from a seed, so that
the training run only looks embeddings up.

    python prepare.py --data DIR --out PACK [--world DIR]

The `world` folder is what `stitch world render --frames-only` wrote (see README.md); it may be left out.
"""
import argparse
import hashlib
import io
import json
import pathlib
import random
import re
import tarfile

SLOTS = 16  # how many text choices an item has; the sampling weight of a text is how many slots it fills
PART_BYTES = 54 << 20

# Phrases for the cooking states: the set's own templates hardly sound like steps. The last is kept for measuring.
STATE_PHRASES = {
    "sliced": ["slice the {f}", "cut the {f} into slices", "slices of {f}", "thinly sliced {f}", "cut the {f} into rounds"],
    "whole": ["a whole {f}", "take the {f}", "wash the {f}", "{f} before cutting", "an uncut {f} on the counter"],
    "juiced": ["pour the {f} juice", "squeeze juice from the {f}", "{f} juice in a glass", "juice the {f}", "a liquid made of {f}"],
    "diced": ["dice the {f}", "cut the {f} into cubes", "chop the {f} into small pieces", "diced {f}", "small cubes of {f}"],
    "grated": ["grate the {f}", "shred the {f}", "grated {f} on a plate", "a pile of shredded {f}", "finely grated {f}"],
    "creamy_paste": ["blend the {f} until smooth", "mash the {f} into a paste", "whip the {f} until creamy", "{f} puree", "a smooth paste of {f}"],
    "peeled": ["peel the {f}", "remove the skin from the {f}", "a peeled {f}", "take the peel off the {f}", "{f} without its skin"],
    "floured": ["coat the {f} in flour", "dredge the {f} in flour", "dust the {f} with flour", "roll the {f} in flour", "{f} covered with flour"],
    "jullienne": ["cut the {f} into thin strips", "julienne the {f}", "matchsticks of {f}", "slice the {f} into strips", "long thin strips of {f}"],
    "mixed": ["mix the {f} with the other ingredients", "toss the {f} together", "stir the {f} to combine", "a mixed salad of {f}", "combine all the {f} in a bowl"],
    "other": ["{f} on a plate", "{f} ready to eat", "a dish of {f}", "cooked {f}", "prepared {f}"],
}
STATE_FOODS = ["food", "vegetables", "ingredients"]
# Sets of step_pictures whose text is a dish title or a tool's name: labels, not steps.
LABEL_SETS = {"joi_recipes", "kitchen_utensils"}
CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")


class Texts:
    """Distinct texts, numbered as they come."""

    def __init__(self):
        self.ids, self.list = {}, []

    def add(self, text):
        text = " ".join(text.split())[:300]
        if text not in self.ids:
            self.ids[text] = len(self.list)
            self.list.append(text)
        return self.ids[text]


def drop_words(text, rng, share=0.2):
    kept = [w for w in text.split() if rng.random() > share]
    return " ".join(kept) if len(kept) >= 2 else text


def clauses(text):
    """Parts of a step that stand alone: what lies between 'and', commas and full stops."""
    parts = [p.strip() for p in re.split(r"\band\b|\bthen\b|[,.;:]", text)]
    return [p for p in parts if len(p.split()) >= 3 and p != text]


def step_choices(texts, rng):
    """Slots for a step: half the most specific text as it stands, the rest variants and looser texts."""
    main = texts[0]
    plain = main.lower().strip(" .!")
    variants = [drop_words(plain, rng) for _ in range(4)]
    parts = clauses(plain)
    rng.shuffle(parts)
    extra = [t[:200] for t in texts[1:3]]
    slots = [main] * 4 + [plain] * 4 + variants + parts[:2] + extra
    return (slots + [plain] * SLOTS)[:SLOTS]


def cycle(choices):
    return [choices[i % len(choices)] for i in range(SLOTS)]


def fold_of(key, folds=30):
    """A number 0..29 from the key alone: 30 divides into 2, 3, 5, 6 and 10 folds."""
    return int(hashlib.sha256(key.encode()).hexdigest()[:8], 16) % folds


class Pack:
    """Items and their bytes."""

    def __init__(self):
        self.items, self.blobs, self.texts = [], [], Texts()

    def add(self, blob, **item):
        item["slots"] = [self.texts.add(t) for t in item["slots"]]
        item["main"] = self.texts.add(item["main"])
        self.items.append(item)
        self.blobs.append(blob)


def read_tar(path):
    with tarfile.open(path) as tar:
        return {m.name: tar.extractfile(m).read() for m in tar if m.isfile()}


def rows_of(files):
    name = next(n for n in files if n.endswith("captions.jsonl"))
    return [json.loads(line) for line in files[name].decode().splitlines()]


def find_picture(files, image):
    for name in (f"images/{image}", f"./images/{image}", image):
        if name in files:
            return files[name]
    return next((b for n, b in files.items() if n.endswith("/" + image)), None)


def add_captions(pack, pairs):
    files = {**read_tar(pairs / "flickr8k-1.tar"), **read_tar(pairs / "flickr8k-2.tar")}
    for row in rows_of(files):
        pack.add(find_picture(files, row["image"]), source="flickr8k", kind="caption", split=row["split"],
                 label=None, group=None, main=row["text"][0], slots=cycle(row["text"]), captions=[pack.texts.add(t) for t in row["text"]])
    files = read_tar(pairs / "coco_small.tar")
    for row in rows_of(files):
        pack.add(find_picture(files, row["image"]), source="coco_small", kind="caption", split="train",
                 label=None, group=None, main=row["text"][0], slots=cycle(row["text"]))


def add_states(pack, pairs):
    files = read_tar(pairs / "cooking_states.tar")
    for row in rows_of(files):
        foods = [row["food"]] if row["food"] else STATE_FOODS
        phrases = [p.format(f=f) for p in STATE_PHRASES[row["state"]][:4] for f in foods]
        pack.add(find_picture(files, row["image"]), source="cooking_states", kind="state", split=row["split"],
                 label=f"{row['state']}/{row['food']}", state=row["state"], group=None,
                 main=row["text"][0], slots=(row["text"] * 2 + cycle(phrases))[:SLOTS])


def add_labels(pack, pairs):
    files = read_tar(pairs / "grocery_store.tar")
    for row in rows_of(files):
        name = row["text"][-1]
        choices = row["text"] + [f"add the {name}", f"{name} on the table"]
        pack.add(find_picture(files, row["image"]), source="grocery_store", kind="label", split=row["split"],
                 label=row["label"], group=None, main=name, slots=cycle(choices))
    files = read_tar(pairs / "public_domain_recipes.tar")
    for row in rows_of(files):
        choices = row["text"] + [row["text"][0].replace("a photo of ", ""), row["text"][0].replace("a photo of", "serve the")]
        pack.add(find_picture(files, row["image"]), source="public_domain_recipes", kind="label", split="train",
                 label="dish:" + row["text"][0].lower(), group=None, main=row["text"][0], slots=cycle(choices))


def add_step_pictures(pack, pairs, rng):
    files = read_tar(pairs / "step_pictures.tar")
    for row in rows_of(files):
        texts = [t for t in row["text"] if not CJK.search(t) and "does not support" not in t]
        if not texts:
            continue
        is_label = row["set"] in LABEL_SETS
        slots = cycle(texts + [f"a photo of {texts[0].lower()}"]) if is_label else step_choices(texts, rng)
        pack.add(find_picture(files, row["image"]), source="step_pictures", kind="label" if is_label else "step",
                 split="train", label="step:" + texts[0].lower(), group="g:" + row["group"], domain=row["domain"],
                 fold=fold_of(row["group"]), main=texts[0], slots=slots)


def add_youcook(pack, data, rng):
    files = read_tar(data / "youcook2_frames" / "images.tar")
    rows = [json.loads(line) for line in open(data / "youcook2_frames" / "videos.jsonl")]
    order = sorted(range(len(rows)), key=lambda i: hashlib.sha256(rows[i]["video"].encode()).hexdigest())
    for place, index in enumerate(order):  # dealt out in turn, so that folds are of equal size
        row = rows[index]
        for step in row["steps"]:
            pack.add(find_picture(files, step["image"]), source="youcook2", kind="video", split="train",
                     label="yc2:" + step["text"].lower(), group="v:" + row["video"], fold=place % 30, recipe=row["recipe_type"],
                     main=step["text"], slots=step_choices([step["text"]], rng))


def plain(word):
    return (word or "").replace("_", " ")


def world_label(row):
    thing = row["things"][0] if row["things"] else {"kind": "", "after": ""}
    return f"{row['verb']}/{thing['kind']}/{thing['after']}"


def add_world(pack, folder, rng):
    """Frames of the made-up library; frames in which no step is shown are left out.

    Videos word the same step differently, so a frame may also go by another video's words.
    """
    from PIL import Image
    rows = [json.loads(line) for line in open(folder / "frames.jsonl")]
    rows = [r for r in rows if r["text"]]
    wordings = {}
    for row in rows:
        wordings.setdefault(world_label(row), set()).add(row["text"])
    for row in rows:
        label, text = world_label(row), row["text"]
        verb, things = plain(row["verb"]), [(plain(t["kind"]), plain(t["after"])) for t in row["things"][:2]]
        short = [f"{verb} the {kind}" for kind, _ in things[:1]] + [f"{after} {kind}" for kind, after in things]
        others = sorted(wordings[label] - {text})
        rng.shuffle(others)
        slots = ([text] * 5 + [text.lower()] + [drop_words(text.lower(), rng)] + others[:6] + short + [text] * SLOTS)[:SLOTS]
        stream = io.BytesIO()
        Image.open(folder / row["file"]).convert("RGB").resize((256, 256), Image.BILINEAR).save(stream, "JPEG", quality=82)
        pack.add(stream.getvalue(), source="world", kind="world", split="test" if fold_of(row["video"]) < 5 else "train",
                 label="world:" + label, group="w:" + row["video"], domain=row["domain"], fold=-1, main=text, slots=slots)


def write(pack, out):
    out.mkdir(parents=True, exist_ok=True)
    part, size, number = None, 0, -1
    for item, blob in zip(pack.items, pack.blobs):
        if part is None or size + len(blob) > PART_BYTES:
            number, size = number + 1, 0
            folder = out / f"part{number}"
            folder.mkdir(exist_ok=True)
            part = open(folder / "pictures.bin", "wb")
        item.update(part=number, at=size, bytes=len(blob))
        part.write(blob)
        size += len(blob)
    part.close()
    (out / "part0" / "pack.json").write_text(json.dumps({"items": pack.items, "texts": pack.texts.list}))
    return number + 1


def main():
    args = argparse.ArgumentParser()
    args.add_argument("--data", type=pathlib.Path, required=True)
    args.add_argument("--out", type=pathlib.Path, required=True)
    args.add_argument("--world", type=pathlib.Path)
    args.add_argument("--seed", type=int, default=7)
    args = args.parse_args()
    pack, rng = Pack(), random.Random(args.seed)
    add_captions(pack, args.data / "pairs")
    add_youcook(pack, args.data, rng)
    add_step_pictures(pack, args.data / "pairs", rng)
    add_labels(pack, args.data / "pairs")
    add_states(pack, args.data / "pairs")
    if args.world:
        add_world(pack, args.world, rng)
    missing = sum(b is None for b in pack.blobs)
    if missing:
        raise SystemExit(f"{missing} pictures named in the lists are not in the archives")
    parts = write(pack, args.out)
    print(len(pack.items), "items,", len(pack.texts.list), "texts,", parts, "parts,", sum(map(len, pack.blobs)) >> 20, "MiB")


if __name__ == "__main__":
    main()
