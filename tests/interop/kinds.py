"""Makes a video of every kind that editors treat in a way of its own, and a demonstration of them.

    kinds.py FOLDER       writes FOLDER/*.mov and FOLDER/demo.json: ten minutes of four cuts of each

Every frame has its number in it as black and white bars, the lowest bit on the left."""

import fractions
import json
import pathlib
import subprocess
import sys

BITS = 12
SECONDS = 52
CUTS = 4

# name: (frames per second, timecode, size, further options of ffmpeg)
KINDS = {
    "23.976": ("24000/1001", None, "96x54", []),
    "24": ("24", None, "96x54", []),
    "25": ("25", None, "96x54", []),
    "29.97 drop-frame": ("30000/1001", "00:58:50;00", "96x54", []),
    "29.97 non-drop": ("30000/1001", "00:58:50:00", "96x54", []),
    "30": ("30", None, "96x54", []),
    "50": ("50", None, "96x54", []),
    "59.94": ("60000/1001", None, "96x54", []),
    "variable": ("30", None, "96x54", ["-vf", "select=mod(n+1\\,75)", "-vsync", "vfr"]),
    "rotated": ("30", None, "96x54", []),
    "start 01:00:00:00": ("25", "01:00:00:00", "96x54", []),
    "no sound": ("25", None, "96x54", []),
    "odd size": ("30", None, "97x75", ["-pix_fmt", "yuv444p"]),
}
# To which constant rate an editor conforms the variable one: 29.6 frames a second on average.
CONFORMED = {"variable": fractions.Fraction(30000, 1001)}


def file_name(kind):
    return f"{kind.replace(':', '')} & more.mov"


def rate(kind):
    return CONFORMED.get(kind, fractions.Fraction(KINDS[kind][0]))


def is_drop(kind):
    return ";" in (KINDS[kind][1] or "")


def first_frame(kind):
    """The number of the file's first frame, counted from timecode 0."""
    timecode = KINDS[kind][1] or "00:00:00:00"
    hours, minutes, seconds, frames = (int(n) for n in timecode.replace(";", ":").split(":"))
    minutes += 60 * hours
    dropped = 2 * (minutes - minutes // 10) if is_drop(kind) else 0
    return (minutes * 60 + seconds) * round(rate(kind)) + frames - dropped


def pictures(width, height, count):
    """Gray pictures with the bars of their numbers."""
    bar = width // BITS
    for number in range(count):
        bits = b"".join((b"\xff" if number >> bit & 1 else b"\0") * bar for bit in range(BITS))
        yield bits.ljust(width, b"\0") * height


def make(kind, path):
    fps, timecode, size, options = KINDS[kind]
    raw = b"".join(pictures(*map(int, size.split("x")), round(SECONDS * fractions.Fraction(fps))))
    video = ["-f", "rawvideo", "-pix_fmt", "gray", "-s", size, "-r", fps, "-i", "-"]
    sound = ["-f", "lavfi", "-i", f"sine=d={SECONDS}:sample_rate=48000"] if kind != "no sound" else []
    options = options + (["-timecode", timecode] if timecode else [])
    encode = ["-c:v", "libx264", "-preset", "ultrafast", "-qp", "10", "-pix_fmt", "yuv420p"]
    encode += ["-c:a", "pcm_s16le", "-ac", "2"]
    run = lambda *a: subprocess.run(["ffmpeg", "-v", "error", "-y", *a], check=True, input=raw)
    run(*video, *sound, *encode, *options, str(path))
    if kind == "rotated":
        upright = path.with_suffix(".upright.mov")
        path.rename(upright)
        run("-i", str(upright), "-c", "copy", "-metadata:s:v:0", "rotate=90", str(path))
        upright.unlink()


def cut(kind, path, number):
    start = 1237 + 12611 * (number // len(KINDS)) + 13 * number
    span = {"start_ms": start, "end_ms": start + 11383 + 7 * number}
    source = {"video": number % len(KINDS), "path": str(path), "title": kind}
    source |= {"uploader": None, "url": None, "licence": "CC BY 4.0"}
    similarity = {"text": None, "words": None, "clip": None, "probability": 0.9}
    told = {"text": kind, "narration": "", "similarity": similarity, "copies": []}
    return {"clip": number, "source": source, "span": span, "cut": span, "speed": 1.0} | told


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True)
    for kind in KINDS:
        make(kind, folder / file_name(kind))
    steps = []
    for number in range(CUTS * len(KINDS)):
        kind = list(KINDS)[number % len(KINDS)]
        chosen = cut(kind, folder / file_name(kind), number)
        step = {"text": f"Step <{number}> & on", "confidence": "shown", "chosen": chosen}
        steps.append(step | {"parts": [], "alternatives": [], "join": None})
    of_all = {"scorer": "none", "score": 0, "candidates": 1, "source_changes": 51, "seed": 0, "models": {}}
    demonstration = {"version": 1, "title": "Every kind", "steps": steps} | of_all
    (folder / "demo.json").write_text(json.dumps(demonstration), encoding="utf-8")


if __name__ == "__main__":
    main()
