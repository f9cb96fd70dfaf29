"""Opens exports with third-party readers and compares the ranges with demo.json.

    check.py FOLDER/demo                   reads FOLDER/demo.json and the timelines beside it
    check.py FOLDER/demo --kinds FORMATS.md  also compares what it finds with the table in FORMATS.md;
                                           `--write` replaces the table

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
NAMES = {"otio": "OTIO", "edl": "EDL", "fcpxml": "FCPXML", "xml": "XMEML", "mlt": "MLT"}


def nearest(number):
    """Halves upwards, as stitch rounds."""
    return int(number + Fraction(1, 2))


def clips(demonstration):
    for step in demonstration["steps"]:
        parts = [part["clip"] for part in step.get("parts", []) if part.get("clip")]
        shown = parts + ([step["chosen"]] if step["chosen"] else [])
        yield step["text"], sorted(shown, key=lambda clip: clip["cut"]["start_ms"])


def expected(demonstration, fps, rates):
    """The cuts as the readers give them; `rates` tells rate and first frame of a file."""
    at = 0
    for _, shown in clips(demonstration):
        for choice in shown:
            cut, name = choice["cut"], pathlib.Path(choice["source"]["path"]).name
            length = Fraction(cut["end_ms"] - cut["start_ms"], 1000) / Fraction(choice["speed"])
            rate, zero = rates(name)
            yield name, zero + nearest(Fraction(cut["start_ms"], 1000) * rate), at, nearest(length * fps)
            at += nearest(length * fps)
        at += 0 if shown else 3 * fps  # a card


def in_format(format, frame, rate, is_drop, zero, fps):
    """The first frame as this format gives it."""
    if format == "mlt":
        return nearest((frame - zero) / rate * fps)
    if format != "edl":
        return frame
    base = round(rate)
    if is_drop:  # two numbers are left out at every minute but the tenth
        tens, rest = divmod(frame, 17982)
        frame += 18 * tens + 2 * max(0, (rest - 2) // 1798)
    at = nearest(Fraction(frame, base) * fps)
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
    """Renders the MLT file and reads the numbers in its pictures: the farthest from what it should be, in
    frames of the source."""
    size = lxml.etree.parse(stem + ".mlt").getroot().find("profile")
    width, height = int(size.get("width")), int(size.get("height"))
    video = stem + ".melt.mkv"
    render = ["melt", stem + ".mlt", "-consumer", f"avformat:{video}", "vcodec=ffv1", "an=1", "real_time=-1"]
    subprocess.run(render, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    farthest = 0
    for name, first, start, frames in cuts:
        kind = kind_of(name)
        if kind == "rotated":
            continue  # its bars lie across
        for after in [0, frames - 1]:
            number = number_at(video, Fraction(start + after, fps), kind, (width, height))
            rate = Fraction(kinds.KINDS[kind][0])
            shown = (first - kinds.first_frame(kind)) / kinds.rate(kind) + Fraction(after, fps)
            farthest = max(farthest, abs(number - shown * rate))
    return farthest


def number_at(video, seconds, kind, size):
    raw = ["-frames:v", "1", "-pix_fmt", "gray", "-f", "rawvideo", "-"]
    seek = ["ffmpeg", "-v", "error", "-ss", f"{float(seconds) + 0.001:.4f}", "-i", video]
    gray = subprocess.run(seek + raw, check=True, capture_output=True).stdout
    width, height = map(int, kinds.KINDS[kind][2].split("x"))
    scale = min(size[0] / width, size[1] / height)
    left = (size[0] - width * scale) / 2
    bar = width // kinds.BITS * scale
    row = size[1] // 2 * size[0]
    bits = [gray[row + int(left + (bit + 0.5) * bar)] > 128 for bit in range(kinds.BITS)]
    return sum(2**bit for bit, is_set in enumerate(bits) if is_set)


def kind_of(name):
    return next(kind for kind in kinds.KINDS if name == kinds.file_name(kind))


def check_kinds(stem, demonstration, fps):
    """The table of formats and kinds: whether all ranges are equal to the frame."""
    rates = lambda name: (kinds.rate(kind_of(name)), kinds.first_frame(kind_of(name)))
    wanted = list(expected(demonstration, fps, rates))
    assert {kind_of(name) for name, *_ in wanted} == set(kinds.KINDS), "a kind is missing"
    found = {format: read(f"{stem}.{format}", fps) for format, read in READERS.items()}
    rows = []
    for kind in kinds.KINDS:
        cells = [kind]
        for format, cuts in found.items():
            is_drop = ";" in (kinds.KINDS[kind][1] or "")
            of_kind = [
                (name, in_format(format, first, kinds.rate(kind), is_drop, kinds.first_frame(kind), fps), *place)
                for name, first, *place in wanted
                if kind_of(name) == kind
            ]
            read = [tuple(cut) for cut in cuts if kind_of(cut[0]) == kind]
            equal = sum(cut in read for cut in of_kind)
            if equal < len(of_kind) or len(read) != len(of_kind):
                print(f"{kind}, {format}:\n  {of_kind}\n  {read}", file=sys.stderr)
            cells.append("equal" if equal == len(of_kind) == len(read) else f"{equal} of {len(of_kind)}")
        rows.append(cells)
    table = [["source", *(NAMES[format] for format in found)], ["---"] * (len(found) + 1), *rows]
    assert all(cell == "equal" for row in rows for cell in row[1:]), rows
    if shutil.which("melt"):
        farthest = check_pictures(stem, wanted, fps)
        print(f"melt shows the right frames, {float(farthest):.2f} frames away at most")
        assert farthest <= 1
    else:
        print("melt is not installed: the MLT file was read and not rendered")
    last = wanted[-1][2] / fps
    chapters = pathlib.Path(stem + ".chapters.vtt").read_text(encoding="utf-8")
    hours, minutes, seconds = re.findall(r"([\d:.]+) -->", chapters)[-1].split(":")
    drift = abs(last - (int(hours) * 3600 + int(minutes) * 60 + float(seconds)))
    print(f"{len(wanted)} cuts; the last begins at {last:.1f} s, {drift * fps:.2f} frames from its chapter")
    assert last > 580 and drift * fps < 1
    return "\n".join("| " + " | ".join(row) + " |" for row in table)


def check_docs(path, table, write):
    text = path.read_text(encoding="utf-8")
    old = re.search(r"\| source \| OTIO .*?(?=\n\n)", text, re.S)
    if write:
        path.write_text(text.replace(old.group(), table), encoding="utf-8")
    elif old.group() != table:
        sys.exit(f"{path} has another table than the one found:\n{table}")


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
