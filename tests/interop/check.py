"""Opens exports with third-party readers and compares the ranges with demo.json.

    check.py FOLDER/demo                     reads FOLDER/demo.json and the timelines beside it
    check.py FOLDER/demo --kinds FORMATS.md  reads those of kinds.py, also with handles, and compares the table
                                             of what it finds with that in FORMATS.md; `--write` replaces it

It fails if they disagree. tests/interop/run.sh makes the folder and what is needed to run this."""

import argparse
import fractions
import glob
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import lxml.etree

import kinds
from readers import READERS

Fraction = fractions.Fraction
HERE = pathlib.Path(__file__).parent
HANDLES = Fraction(1, 2)  # seconds, of the timelines handles.*
NAMES = {"otio": "OTIO", "edl": "EDL", "fcpxml": "FCPXML", "xml": "XMEML", "mlt": "MLT"}


def nearest(number):
    """Halves upwards, as stitch rounds."""
    return int(number + Fraction(1, 2))


def clips(demonstration):
    for step in demonstration["steps"]:
        parts = [part["clip"] for part in step.get("parts", []) if part.get("clip")]
        shown = parts + ([step["chosen"]] if step["chosen"] else [])
        yield step["text"], sorted(shown, key=lambda clip: clip["cut"]["start_ms"])


def expected(demonstration, fps, handles=0):
    """The cuts of a demonstration of every kind as the readers give them, with handles of so many frames."""
    at = 0
    for _, shown in clips(demonstration):
        for choice in shown:
            cut, name = choice["cut"], pathlib.Path(choice["source"]["path"]).name
            rate, zero = kinds.rate(kind_of(name)), kinds.first_frame(kind_of(name))
            first = nearest(Fraction(cut["start_ms"], 1000) * rate) - nearest(Fraction(handles, fps) * rate)
            frames = nearest(Fraction(cut["end_ms"] - cut["start_ms"], 1000) * fps) + 2 * handles
            yield name, zero + first, at, frames
            at += frames


def in_format(format, kind, first, fps):
    """The first frame of a source as this format gives it."""
    rate, zero = kinds.rate(kind), kinds.first_frame(kind)
    if format == "mlt":
        return nearest((first - zero) / rate * fps)
    if format != "edl":
        return first
    if kinds.is_drop(kind):  # two numbers are left out at every minute but the tenth
        tens, rest = divmod(first, 17982)
        first += 18 * tens + 2 * max(0, (rest - 2) // 1798)
    at = nearest(Fraction(first, round(rate)) * fps)
    return f"{at // fps // 3600:02}:{at // fps // 60 % 60:02}:{at // fps % 60:02}:{at % fps:02}"


def check_dtd(path, dtd):
    document = lxml.etree.parse(str(path))
    assert dtd.validate(document), dtd.error_log.filter_from_errors()


def check_schemas(stem):
    check_dtd(stem + ".fcpxml", lxml.etree.DTD(str(HERE / "fcpxml.dtd")))
    if os.environ.get("FCPXML_DTD"):  # Apple's, which may not be copied
        check_dtd(stem + ".fcpxml", lxml.etree.DTD(os.environ["FCPXML_DTD"]))
    for dtd in glob.glob("/usr/share/mlt-*/xml/mlt-xml.dtd"):
        text = pathlib.Path(dtd).read_text(encoding="utf-8")
        # Its line about nested properties is no DTD.
        text = text.replace("<!ELEMENT properties property >", "<!ELEMENT properties (property|properties)* >")
        with tempfile.NamedTemporaryFile("w", suffix=".dtd") as file:
            file.write(text.split("?>", 1)[1])
            file.flush()
            check_dtd(stem + ".mlt", lxml.etree.DTD(file.name))


def check_pictures(stem, cuts, fps):
    """Renders the MLT file and reads the numbers in the first and last picture of every cut: the farthest from
    what it should be, in frames."""
    size = lxml.etree.parse(stem + ".mlt").getroot().find("profile")
    width, height = int(size.get("width")), int(size.get("height"))
    raw = ["f=rawvideo", "vcodec=rawvideo", "pix_fmt=gray", "an=1", "real_time=-1"]
    render = ["melt", stem + ".mlt", "-consumer", f"avformat:{stem}.gray", *raw]
    subprocess.run(render, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    pictures = pathlib.Path(stem + ".gray").read_bytes()
    _, _, start, frames = cuts[-1]
    assert len(pictures) == width * height * (start + frames), "melt renders another length"
    farthest = 0
    for name, first, start, frames in cuts:
        kind = kind_of(name)
        for after in [0, frames - 1]:
            picture = pictures[(start + after) * width * height :][: width * height]
            shown = number_in(picture, kind, width, height) / Fraction(kinds.KINDS[kind][0])
            farthest = max(farthest, abs(shown * fps - in_format("mlt", kind, first, fps) - after))
    return farthest


def number_in(picture, kind, width, height):
    """By the bars of kinds.py, in a picture of that source between black borders; of the rotated one they
    begin below."""
    is_upright = kind != "rotated"
    own = list(map(int, kinds.KINDS[kind][2].split("x")))
    across, along = (width, height) if is_upright else (height, width)
    scale = min(across / own[0], along / own[1])
    number = 0
    for bit in range(kinds.BITS):
        at = (across - own[0] * scale) / 2 + (bit + 0.5) * (own[0] // kinds.BITS) * scale
        x, y = (int(at), height // 2) if is_upright else (width // 2, height - 1 - int(at))
        number |= (picture[y * width + x] > 128) << bit
    return number


def kind_of(name):
    return next(kind for kind in kinds.KINDS if name == kinds.file_name(kind))


def unequal(format, wanted, found, fps):
    """The kinds of sources of which some range is not equal to the frame."""
    for kind in kinds.KINDS:
        of_kind = [
            (name, in_format(format, kind, first, fps), *place)
            for name, first, *place in wanted
            if kind_of(name) == kind
        ]
        read = [tuple(cut) for cut in found if kind_of(cut[0]) == kind]
        if read != of_kind:
            print(f"{kind}, {NAMES[format]}:\n  expected {of_kind}\n  found    {read}", file=sys.stderr)
            yield kind


def check_kinds(stem, demonstration, fps):
    """The table of formats and kinds of sources, one column per format."""
    handles = int(HANDLES * fps)
    wanted, longer = (list(expected(demonstration, fps, frames)) for frames in [0, handles])
    assert {kind_of(name) for name, *_ in wanted} == set(kinds.KINDS), "a kind is missing"
    chapters = pathlib.Path(stem + ".chapters.vtt").read_text(encoding="utf-8")
    hours, minutes, seconds = re.findall(r"--> ([\d:.]+)", chapters)[-1].split(":")
    end = int(hours) * 3600 + int(minutes) * 60 + float(seconds)
    assert end > 600, end
    columns = [["source", "---", *kinds.KINDS, "all, with handles", "drift after 10 minutes"]]
    for format, read in READERS.items():
        found = read(f"{stem}.{format}", fps)
        wrong = list(unequal(format, wanted, found, fps))
        with_handles = read(str(pathlib.Path(stem).with_name(f"handles.{format}")), fps)
        wrong_handles = list(unequal(format, longer, with_handles, fps))
        _, _, start, frames = found[-1]
        drift = abs(start + frames - end * fps)
        assert not wrong and not wrong_handles and drift < 1, (NAMES[format], wrong, wrong_handles, drift)
        columns.append([NAMES[format], "---", *["equal"] * (len(kinds.KINDS) + 1), f"{drift:.2f} frames"])
    if shutil.which("melt"):
        farthest = check_pictures(stem, wanted, fps)
        print(f"melt shows the right frames, {float(farthest):.2f} frames away at most")
        assert farthest <= 1
    else:
        print("melt is not installed: the MLT file was read and not rendered")
    print(f"{len(wanted)} cuts of {len(kinds.KINDS)} kinds of sources in {end:.1f} s: equal to the frame")
    return "\n".join("| " + " | ".join(row) + " |" for row in zip(*columns))


def check_docs(path, table, write):
    text = path.read_text(encoding="utf-8")
    found = re.sub(r"\| source \| OTIO .*?(?=\n\n)", lambda _: table, text, flags=re.S)
    if write:
        path.write_text(found, encoding="utf-8")
    elif found != text:
        sys.exit(f"{path} has another table; `tests/interop/run.sh --write` writes this one:\n{table}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("stem")
    parser.add_argument("--kinds", type=pathlib.Path)
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    stem = arguments.stem
    demonstration = json.loads(pathlib.Path(stem + ".json").read_text(encoding="utf-8"))
    profile = lxml.etree.parse(stem + ".mlt").getroot().find("profile")
    fps = int(profile.get("frame_rate_num"))
    check_schemas(stem)
    if arguments.kinds:
        check_docs(arguments.kinds, check_kinds(stem, demonstration, fps), arguments.write)
        return
    shown = [pathlib.Path(clip["source"]["path"]).name for _, clips_ in clips(demonstration) for clip in clips_]
    for format, read in READERS.items():
        cuts = read(f"{stem}.{format}", fps)
        assert [cut[0] for cut in cuts] == shown, (format, cuts)
        print(f"{NAMES[format]}: {len(cuts)} clips, {sum(cut[3] for cut in cuts) / fps:.2f} s")


main()
