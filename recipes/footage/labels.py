"""Labelled procedures for a folder of real clips without words: one set for all clips, one for each third of them.

    python labels.py CLIPS OUT

CLIPS holds the clips and `clips.jsonl` (`file`, `text`, `seconds`, `repo`). A step is a clip's caption, or one of the steps in
`unshown.txt`, which no clip shows. `domain` is the source of the clips, so that `stitch calibrate` and `fit.py` judge every
source by weights fitted to the others. In a third of the library the captions of the other clips are steps that nothing shows.
"""
import hashlib
import json
import pathlib
import random
import sys

ROUNDS, STEPS, THIRDS = 3, 4, 3
# Clips that show the same action.
SAME = [{13, 14, 15, 16, 17}, {18, 43}, {38, 41}, {12, 58}, {4, 42}, {30, 31}, {3, 35}]


def source(repo):
    """The largest repository is a source of its own; the others are dealt into four."""
    return "panda" if "Panda" in repo else "s" + str(int(hashlib.sha256(repo.encode()).hexdigest()[:8], 16) % 4)


def sentence(text):
    text = text.split("(")[0].strip(" .")
    return text[0].upper() + text[1:] + "."


def span(clip):
    return dict(video=clip["file"], start_s=0.0, end_s=clip["seconds"])


def procedure(name, domain, steps):
    lines = [f"{n}. {line}" for n, (line, _) in enumerate(steps, 1)]
    return dict(id=name, domain=domain, text="What to do\n\n" + "\n".join(lines), steps=[dict(line=line, clips=clips) for line, clips in steps])


def procedures(clips, unshown, rng):
    same = {i: next((group for group in SAME if i in group), {i}) for i in range(len(clips))}
    by = {}
    for i, clip in enumerate(clips):
        by.setdefault(source(clip["repo"]), []).append(i)
    unshown, used, share = rng.sample(unshown, len(unshown)), 0, {}
    for name, rows in by.items():
        count = round(len(unshown) * len(rows) / len(clips))
        share[name], used = unshown[used:used + count], used + count
    for name, rows in sorted(by.items()):
        for n in range(ROUNDS):
            rows, foreign = rng.sample(rows, len(rows)), rng.sample(share[name], len(share[name]))
            each = max(1, round(len(foreign) / max(1, len(rows) / STEPS)))
            for first in range(0, len(rows), STEPS):
                part = rows[first:first + STEPS]
                if len(part) < 2:
                    continue
                steps = {sentence(clips[i]["text"]): [span(clips[j]) for j in sorted(same[i])] for i in part}
                steps.update({line: [] for line in foreign[:each]})
                foreign = foreign[each:]
                yield procedure(f"{name}-{n}-{first}", name, rng.sample(sorted(steps.items()), len(steps)))


def among(labelled, kept):
    """The same where only these clips are in the library; at most one more step that nothing shows than steps that something does."""
    for old in labelled:
        steps = [(s["line"], [c for c in s["clips"] if c["video"] in kept]) for s in old["steps"]]
        shown = sum(bool(clips) for _, clips in steps)
        gaps = [line for line, clips in steps if not clips]
        left_out = set(random.Random(old["id"]).sample(gaps, len(gaps))[shown + 1:])
        if shown:
            yield procedure(old["id"], old["domain"], [(line, clips) for line, clips in steps if line not in left_out])


def write(path, labelled):
    path.write_text("".join(json.dumps(line) + "\n" for line in labelled))


def main():
    folder, out = map(pathlib.Path, sys.argv[1:3])
    clips = [json.loads(line) for line in open(folder / "clips.jsonl")]
    unshown = (pathlib.Path(__file__).parent / "unshown.txt").read_text().splitlines()
    labelled = list(procedures(clips, unshown, random.Random(3)))
    out.mkdir(parents=True, exist_ok=True)
    write(out / "all.jsonl", labelled)
    (out / "all.remove").write_text("")
    order = random.Random(11).sample(range(len(clips)), len(clips))
    for third in range(THIRDS):
        kept = {clips[i]["file"] for i in order[third::THIRDS]}
        write(out / f"third{third}.jsonl", among(labelled, kept))
        (out / f"third{third}.remove").write_text(" ".join(c["file"] for c in clips if c["file"] not in kept))


if __name__ == "__main__":
    main()
