#!/usr/bin/env python3
"""Texts with their true steps, out of published annotations, for `stitch eval reading`.

    build.py --coin DIR --crosstask DIR --youcook2 DIR --hirest DIR --htstep DIR --out texts.jsonl

A text is the task's name and the steps of one video (HT-Step: of one activity) in one of the forms in which people
write procedures. Nothing is added but list marks, full stops and the heading "Steps".
"""

import argparse
import csv
import json
import pathlib
import random
import re
import textwrap

MIN_STEPS, MAX_STEPS = 3, 15
NO_STEPS = {"finished", "done", "enjoy"}  # headlines of HT-Step that name nothing to do


def coin(folder):
    for path in sorted(folder.glob("coin_*.json")):
        for entry in json.loads(path.read_text()):
            for video in entry.values():
                task = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", video["class"])
                yield task, [step["label"] for step in video["annotation"]]


def crosstask(folder):
    for path in sorted(folder.glob("*.json")):
        for video in json.loads(path.read_text()):
            yield video["task"], [step["step"] for step in video["steps"]]


def youcook2(folder):
    """The names of recipe types are in a file of their own, which not everybody has."""
    names = folder / "label_foodtype.csv"
    names = dict(row[:2] for row in csv.reader(names.open()) if len(row) > 1) if names.exists() else {}
    for path in sorted(folder.glob("*annotations*.json")):
        for video in json.loads(path.read_text())["database"].values():
            yield names.get(video["recipe_type"], ""), [part["sentence"] for part in video["annotations"]]


def hirest(folder):
    for path in sorted(folder.glob("all_data_*.json")):
        for task, videos in json.loads(path.read_text()).items():
            for video in videos.values():
                yield task, [step["heading"] for step in video.get("steps") or []]


def htstep(folder):
    """The steps that all variations of an activity share, and those of the first variation."""
    activities = {}
    with (folder / "taxonomy.csv").open(newline="") as file:
        for row in csv.DictReader(file):
            if row["variation"] in ("none", "A"):
                activities.setdefault(row["activity"], []).append(row["headline"])
    yield from activities.items()


SOURCES = {"coin": coin, "crosstask": crosstask, "youcook2": youcook2, "hirest": hirest, "htstep": htstep}


def clean(steps):
    """One line each, without the full stop and immediate repeats."""
    steps = [" ".join(step.split()).rstrip(" .;,") for step in steps]
    steps = [step for step in steps if step and step.lower() not in NO_STEPS]
    return [step for before, step in zip([None, *steps], steps) if step != before]


def capital(step):
    return step[:1].upper() + step[1:]


def sentence(step):
    return capital(step) + ("" if step[-1] in "!?" else ".")


def titled(title, body):
    return f"{title}\n\n{body}\n" if title else f"{body}\n"


def numbered(title, steps):
    return titled(title, "\n".join(f"{number}. {capital(step)}" for number, step in enumerate(steps, 1)))


def lines(title, steps):
    return titled(title, "\n".join(steps))


def paragraph(title, steps):
    return titled(title, " ".join(map(sentence, steps)))


def wrapped(title, steps):
    return titled(title, textwrap.fill(" ".join(map(sentence, steps)), 72, break_on_hyphens=False))


def bullets(title, steps):
    return titled(title, "Steps:\n" + "\n".join(f"- {capital(step)}" for step in steps))


def markdown(title, steps):
    body = "## Steps\n\n" + "\n".join(f"{number}. {sentence(step)}" for number, step in enumerate(steps, 1))
    return titled(f"# {title}" if title else "", body)


FORMS = [numbered, lines, paragraph, wrapped, bullets, markdown]


def choose(procedures, count, chance):
    """So many procedures, no sequence of steps twice, and no task again before every other has had its turn."""
    found = {(task, tuple(clean(steps))) for task, steps in procedures}
    found = sorted(item for item in found if MIN_STEPS <= len(item[1]) <= MAX_STEPS)
    chance.shuffle(found)
    turns, uses = {}, []
    for task, steps in found:
        turns[task] = turns.get(task, -1) + 1
        uses.append((turns[task], task, steps))
    uses.sort(key=lambda use: use[0])
    return [(task, list(steps)) for _, task, steps in uses[:count]]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for source in SOURCES:
        parser.add_argument(f"--{source}", type=pathlib.Path, metavar="DIR")
    parser.add_argument("--texts", type=int, default=60, help="of each source")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    arguments = parser.parse_args()
    rows = []
    for source, read in SOURCES.items():
        folder = getattr(arguments, source)
        if folder is None:
            continue
        chance = random.Random(f"{arguments.seed} {source}")
        chosen = choose(read(folder), arguments.texts, chance)
        if not chosen:
            parser.error(f"{folder} holds no annotations of {source}")
        for number, (title, steps) in enumerate(chosen):
            form = FORMS[number % len(FORMS)]
            rows.append({
                "id": f"{source}-{number + 1}-{form.__name__}", "source": source, "title": title,
                "name": "text.md" if form is markdown else "text.txt", "text": form(title, steps),
                "steps": [{"line": step} for step in steps],
            })
    arguments.out.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
    print(f"{len(rows)} texts, {sum(len(row['steps']) for row in rows)} steps")


if __name__ == "__main__":
    main()
