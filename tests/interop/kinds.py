"""Makes a video of every kind that editors treat in a way of its own, with a step list beside each.

    kinds.py FOLDER       writes FOLDER/*.mov and FOLDER/*.steps.json, and prints the procedure

Every frame has its number in it as black and white bars, the lowest bit on the left."""

import fractions
import json
import pathlib
import subprocess
import sys

BITS = 12
SECONDS = 52
# What is done to whom, four times in each video.
VERBS = ["Chop", "Wash", "Weigh", "Fry"]

# name: (frames per second, timecode, size, the thing in the steps, further options of ffmpeg)
KINDS = {
    "23.976": ("24000/1001", None, "96x54", "onion", []),
    "24": ("24", None, "96x54", "carrot", []),
    "25": ("25", None, "96x54", "cabbage", []),
    "29.97 drop-frame": ("30000/1001", "00:59:30;00", "96x54", "tomato", []),
    "29.97 non-drop": ("30000/1001", "00:59:30:00", "96x54", "pepper", []),
    "30": ("30", None, "96x54", "leek", []),
    "50": ("50", None, "96x54", "mushroom", []),
    "59.94": ("60000/1001", None, "96x54", "spinach", []),
    "variable": ("30", None, "96x54", "potato", ["-vf", "select=mod(n+1\\,75)", "-vsync", "vfr"]),
    "rotated": ("30", None, "96x54", "garlic", []),
    "start 01:00:00:00": ("25", "01:00:00:00", "96x54", "celery", []),
    "no sound": ("25", None, "96x54", "fennel", []),
    "odd size": ("30", None, "97x75", "pumpkin", ["-pix_fmt", "yuv444p"]),
}
# To which constant rate an editor conforms the variable one: 29.6 frames a second on average.
CONFORMED = {"variable": fractions.Fraction(30000, 1001)}


def file_name(kind):
    return f"{kind.replace(':', '')} & more.mov"


def rate(kind):
    return CONFORMED.get(kind, fractions.Fraction(KINDS[kind][0]))


def first_frame(kind):
    """The number of the file's first frame, counted from timecode 0."""
    timecode = KINDS[kind][1] or "00:00:00:00"
    hours, minutes, seconds, frames = (int(n) for n in timecode.replace(";", ":").split(":"))
    minutes += 60 * hours
    dropped = 2 * (minutes - minutes // 10) if ";" in timecode else 0
    return (minutes * 60 + seconds) * round(rate(kind)) + frames - dropped


def make(kind, path):
    fps, timecode, size, _, options = KINDS[kind]
    bar = int(size.split("x")[0]) // BITS
    bars = f"geq=lum='if(bitand(N,pow(2,floor(X/{bar}))),235,16)':cb=128:cr=128"
    video = ["-f", "lavfi", "-i", f"color=s={size}:r={fps}:d={SECONDS},{bars}"]
    sound = ["-f", "lavfi", "-i", f"sine=d={SECONDS}:sample_rate=48000"] if kind != "no sound" else []
    options = options + (["-timecode", timecode] if timecode else [])
    encode = ["-c:v", "libx264", "-preset", "ultrafast", "-qp", "10", "-pix_fmt", "yuv420p", "-ac", "2"]
    run = lambda *a: subprocess.run(["ffmpeg", "-v", "error", "-y", *a], check=True)
    run(*video, *sound, *encode, *options, str(path))
    if kind == "rotated":
        upright = path.with_suffix(".upright.mov")
        path.rename(upright)
        run("-i", str(upright), "-c", "copy", "-metadata:s:v:0", "rotate=90", str(path))
        upright.unlink()


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True)
    for number, (kind, (_, _, _, thing, _)) in enumerate(KINDS.items()):
        path = folder / file_name(kind)
        make(kind, path)
        starts = [1.237 + 12.611 * i + 0.013 * number for i in range(len(VERBS))]
        steps = [
            {"text": f"{verb} the {thing}", "start": start, "end": start + 11.283}
            for verb, start in zip(VERBS, starts)
        ]
        path.with_suffix(".steps.json").write_text(json.dumps({"title": thing, "steps": steps}))
    for verb in VERBS:
        for _, _, _, thing, _ in KINDS.values():
            print(f"{verb} the {thing}")


if __name__ == "__main__":
    main()
