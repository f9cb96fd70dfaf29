#!/usr/bin/env python3
"""Makes the pictures of the guide from the made-up library of `make demo`, with Chromium and ffmpeg.

    scripts/pictures.py STITCH DEMO WORK [PICTURE...]

Every picture is a page: of the program, or one that is written here around frames and tables. PICTUREs are the names of
the functions below; without them all are made.
"""

import base64
import functools
import html
import json
import pathlib
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests/browser"))
from check import Site  # noqa: E402
from webdriver import Browser  # noqa: E402

PICTURES = ROOT / "docs/src/pictures"
MAX_BYTES = 75_000
STEPS = ["Saw the board to size.", "Assemble the planter box with screws.", "Put potting soil in a pot.",
         "Wait until the first leaves come up.", "Tie a ribbon with a name tag around the pot."]
PRESENT = "A planter as a present\n\n" + "\n".join(f"{n}. {step}" for n, step in enumerate(STEPS, 1))
STYLE = """
body { margin: 0; background: #fff; color: #16181d; font: 15px/1.4 "DejaVu Sans", sans-serif; }
#all { display: inline-block; padding: 12px; min-width: 300px; }
.row { display: flex; gap: 10px; align-items: start; } .row + .row { margin-top: 12px; }
figure { margin: 0; position: relative; } figcaption { margin-top: 4px; } img { display: block; }
pre { margin: 0; padding: 12px 14px; border-radius: 8px; background: #16181d; color: #eceef2; font: 13px/1.45 "DejaVu Sans Mono", monospace; }
.crop { position: absolute; top: 0; outline: 3px solid #ffb454; box-shadow: 0 0 0 2000px #0008; } .cut { overflow: hidden; }
.track { position: relative; height: 46px; background: #e9eaee; border-radius: 5px; margin: 5px 0; overflow: hidden; }
.track div { position: absolute; top: 3px; height: 40px; border-radius: 4px; overflow: hidden; font-size: 12px; color: #fff; }
.track span { position: absolute; top: 4px; white-space: nowrap; }
"""
# What a person drew for the last step: a pot with a ribbon and a name tag.
DRAWN = """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 640 360" width="640" height="360">
<rect width="640" height="360" fill="#f3ead9"/><rect y="270" width="640" height="90" fill="#cfae84"/>
<g fill="#5d9a48"><ellipse cx="285" cy="95" rx="42" ry="26"/><ellipse cx="355" cy="92" rx="42" ry="26"/><ellipse cx="320" cy="60" rx="34" ry="28"/></g>
<path d="M240 110h160l-24 180H264z" fill="#bf6a48"/><path d="M250 180h140l-3 26H253z" fill="#c4294d"/>
<path d="M320 190l-50-34v66zM320 190l50-34v66z" fill="#e0486c"/><circle cx="320" cy="191" r="11" fill="#9b1b3b"/>
<path d="M330 198l60 50" stroke="#7a5b3a" stroke-width="3"/><path d="M384 238l84 10-6 40-84-10z" fill="#fff"/>
<text x="398" y="270" font-family="DejaVu Sans" font-size="20" transform="rotate(6 398 270)">Anna</text></svg>"""


class Studio:
    """The program, its library, a server and a browser."""

    def __init__(self, stitch, demo, work):
        self.stitch, self.work, self.videos = stitch, work, demo / "library"
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir(parents=True)
        self.index = shutil.copytree(demo / "index", work / "index")
        self.browser = Browser(9518)

    @functools.cached_property
    def site(self):
        site = Site(self.stitch, self.work, str(self.index), study=False)
        self.browser.open(site.link)
        return site

    def run(self, *arguments, library=None):
        command = [self.stitch, *map(str, arguments), "--library", str(library or self.index)]
        return subprocess.run(command, cwd=self.work, check=True, stdout=subprocess.PIPE, text=True).stdout.rstrip()

    def make(self, name, text, *options, library=None):
        """Makes a video; returns it and what `demo.json` says."""
        (self.work / f"{name}.txt").write_text(text)
        self.run("make", f"{name}.txt", "-o", f"{name}.mp4", *options, library=library)
        return self.work / f"{name}.mp4", json.loads((self.work / f"{name}.json").read_text())

    def frame(self, video, seconds, name):
        self.ffmpeg("-ss", f"{seconds:.3f}", "-i", video, "-frames:v", "1", f"{name}.png")
        return f"{name}.png"

    def ffmpeg(self, *arguments):
        return subprocess.run(["ffmpeg", "-v", "error", "-y", *map(str, arguments)], cwd=self.work, check=True, stdout=subprocess.PIPE).stdout

    def length(self, video):
        return float(subprocess.check_output(["ffprobe", "-v", "error", "-show_entries", "format=duration", "-of", "csv=p=0", video]))

    def post(self, path, body):
        answer = self.browser.run_later("""const [path, body, done] = arguments;
            fetch(path, {method: 'POST', headers: {'content-type': 'application/json'}, body: JSON.stringify(body)}).then((r) => r.json()).then(done);""", path, body)
        assert "error" not in answer, answer
        return answer

    def open(self, path, width=1000, height=900):
        self.browser.look(width, height)
        self.browser.open(self.site.url + path)
        self.browser.wait("return document.readyState === 'complete'")

    @functools.cached_property
    def demonstration(self):
        """The path of a demonstration that the server has found."""
        self.open("/new")
        found = self.post("/api/demonstrations", {"procedure": {"title": PRESENT.split("\n")[0], "steps": STEPS}})
        path = f"/demonstrations/{found['id']}"
        self.open(path)
        self.browser.wait("return document.querySelector('#steps')", 120)
        return path

    def save(self, name, selectors=("#all",), height=None, at=None, quality=(85, 75, 65, 55, 45)):
        """A picture of the part of the page that holds these elements, or of the window that is scrolled to `at`."""
        self.browser.run("document.querySelectorAll('img').forEach((i) => { i.loading = 'eager'; })")
        self.browser.wait("return [...document.images].every((i) => i.complete)", 60)
        self.browser.run("document.activeElement.blur(); scrollTo({top: 0, behavior: 'instant'}); document.querySelector(arguments[0])?.scrollIntoView({behavior: 'instant'})", at)
        time.sleep(0.3)
        box = self.browser.run("""const b = arguments[0].map((s) => document.querySelector(s).getBoundingClientRect());
            const [x, y] = [Math.min(...b.map((r) => r.left)), Math.min(...b.map((r) => r.top))];
            return {x, y, width: Math.max(...b.map((r) => r.right)) - x, height: Math.max(...b.map((r) => r.bottom)) - y};""", list(selectors))
        box["height"] = min(box["height"], height or box["height"])
        options = {"captureBeyondViewport": not at} | ({} if at else {"clip": {**box, "scale": 1}})
        kinds = [{"format": "jpeg", "quality": q} for q in quality] or [{"format": "png"}]
        for kind in kinds:
            data = base64.b64decode(self.browser.cdp("Page.captureScreenshot", **kind, **options)["data"])
            if len(data) <= MAX_BYTES:
                break
        else:
            raise SystemExit(f"pictures: {name} has {len(data)} bytes, at most {MAX_BYTES}")
        file = PICTURES / f"{name}.{'jpg' if quality else 'png'}"
        file.write_bytes(data)
        print(f"{file.name}  {box['width']:.0f} x {box['height']:.0f}  {len(data) // 1000} kB", flush=True)

    def page(self, name, body, **options):
        """A picture of a page that is written here."""
        path = self.work / f"{name}.html"
        path.write_text(f"<!doctype html><meta charset=utf-8><style>{STYLE}</style><div id=all>{body}</div>")
        self.browser.look(1000)
        self.browser.open(path.as_uri())
        self.save(name, **options)


def row(*parts):
    return f"<div class=row>{''.join(parts)}</div>"


def figure(image, words, width, extra=""):
    return f"<figure><div class=cut style='position:relative'><img src='{image}' width={width}>{extra}</div><figcaption>{words}</figcaption></figure>"


def terminal(*lines):
    return f"<pre>{html.escape(chr(10).join(lines))}</pre>"


def follow(studio):
    """Three moments of a clip, with the crop where it is found again in the source."""
    video, answer = studio.make("follow", "Shelf\n\n1. Smooth the boards with sandpaper.", "--only", "bookshelf", "--size", "360x640", "--aspect", "follow", "--captions", "none")
    clip = answer["steps"][0]["chosen"]
    start, length = clip["cut"]["start_ms"] / 1000, (clip["cut"]["end_ms"] - clip["cut"]["start_ms"]) / 1000
    source = clip["source"]["path"]

    def grey(file, seconds, width):
        return studio.ffmpeg("-ss", f"{seconds:.3f}", "-i", file, "-frames:v", "1", "-vf", f"scale={width}:90", "-pix_fmt", "gray", "-f", "rawvideo", "-")

    columns = ""
    for place, part in enumerate((0.34, 0.6, 0.9)):
        at = length * part
        whole, cut = grey(source, start + at, 160), grey(video, at, 50)
        error = {x: sum(abs(whole[y * 160 + x + i] - cut[y * 50 + i]) for y in range(0, 90, 3) for i in range(50)) for x in range(111)}
        left = min(error, key=error.get) * 300 / 160
        mark = f"<div class=crop style='left:{left:.0f}px;width:95px;height:169px'></div>"
        pictures = [figure(studio.frame(source, start + at, f"follow-s{place}"), f"source, {at:.1f} s", 300, mark),
                    figure(studio.frame(video, at, f"follow-v{place}"), "video", 150)]
        columns += f"<div>{pictures[0]}<div style='width:150px;margin:12px auto 0'>{pictures[1]}</div></div>"
    studio.page("follow", row(columns))


def burn(studio, name, sound):
    """A video of the library with its narration and the name of a channel drawn into the picture."""
    folder = studio.work / name
    folder.mkdir()
    shutil.copy(studio.videos / "beef-tacos-2.srt", studio.work / "burnt.srt")
    style = "FontSize=20,Outline=1,MarginV=6"
    mark = "drawtext=text='TACO TV':font=DejaVu Sans:fontsize=24:fontcolor=white:borderw=2:bordercolor=black@0.7:x=w-tw-16:y=12"
    studio.ffmpeg("-i", studio.videos / "beef-tacos-2.mp4", "-vf", f"subtitles=burnt.srt:force_style='{style}',{mark}",
                  "-c:v", "libx264", "-crf", "18", "-preset", "veryfast", *(["-c:a", "copy"] if sound else ["-an"]), folder / "tacos.mp4")
    if sound:
        shutil.copy(studio.work / "burnt.srt", folder / "tacos.srt")
    studio.run("index", folder, library=studio.work / f"{name}-index")
    return studio.work / f"{name}-index"


def overlays(studio):
    library = burn(studio, "marked", sound=True)
    parts = []
    for kind in ("keep", "crop", "cover"):
        video, _ = studio.make(f"overlays-{kind}", "Tacos\n\n1. Dice a tomato.", "--overlays", kind, "--size", "640x360", "--captions", "none", library=library)
        parts.append(figure(studio.frame(video, 3, f"overlays-{kind}"), f"<code>--overlays {kind}</code>", 300))
    studio.page("overlays", row(*parts))


def screen_text(studio):
    library = burn(studio, "silent", sound=False)
    image = studio.frame(studio.work / "silent/tacos.mp4", 11.5, "screen")
    listed = studio.run("library", "show", "tacos.mp4", library=library).split("\n", 1)[1]
    studio.page("screen-text", row(figure(image, "a silent video; its words stand in the picture", 430)) + row(terminal("$ stitch library show tacos.mp4", listed)))


def voice(studio):
    text = "Salad\n\n1. Rinse a head of lettuce well under cold running water until no sand is left between its leaves."
    video, answer = studio.make("voice", text, "--voice", "espeak", "--captions", "burnt", "--size", "640x360")
    words = answer["voiceover"]["steps"][0]["words"]
    parts = []
    for place, word in enumerate((1, len(words) // 2 + 1, -1)):
        spoken = words[word]
        at = (spoken["start_ms"] + spoken["end_ms"]) / 2000
        parts.append(figure(studio.frame(video, at, f"voice-{place}"), f"{at:.1f} s: “{html.escape(spoken['text'])}” is spoken", 300))
    studio.page("voice", row(*parts))


def fill_gaps(studio):
    (studio.work / "drawn").mkdir()
    drawing = studio.work / "drawn.svg"
    drawing.write_text(DRAWN)
    studio.browser.look(640, 360)
    studio.browser.open(drawing.as_uri())
    studio.browser.shot(studio.work / "drawn/5.png", whole=False)
    before, _ = studio.make("gap", PRESENT, "--size", "640x360")
    video, _ = studio.make("filled", PRESENT, "--size", "640x360", "--fill-gaps", "drawn")
    end = [studio.length(file) - 1 for file in (before, video)]
    studio.page("fill-gaps", row(figure(studio.frame(before, end[0], "gap"), "the card of a gap", 440),
                                 figure(studio.frame(video, end[1], "filled"), "the same gap, filled by <code>drawn/5.png</code>", 440)))


def batch(studio):
    shutil.copytree(ROOT / "examples", studio.work / "examples", ignore=lambda _, names: [n for n in names if not n.endswith(".txt")])
    (studio.work / "examples/present.txt").write_text(PRESENT)
    (studio.work / "examples/notes.txt").write_text("\n")
    files = sorted(str(file.relative_to(studio.work)) for file in (studio.work / "examples").glob("*.txt"))
    command = [studio.stitch, "make", *files, "-o", "videos/", "--size", "640x360", "--library", str(studio.index)]
    said = subprocess.run(command, cwd=studio.work, check=False, stdout=subprocess.PIPE, text=True).stdout.rstrip()
    studio.page("batch", terminal("$ stitch make examples/*.txt -o videos/", said), quality=())


def editors(studio):
    """The exported timeline as an editor would draw it; what lies outside of the cut is the handles."""
    studio.make("timeline", PRESENT, "--no-video", "--with", "otio", "--handles", "1")
    tracks = json.loads((studio.work / "timeline.otio").read_text())["tracks"]["children"]
    lengths = [[part["source_range"]["duration"]["value"] / part["source_range"]["duration"]["rate"] for part in track["children"]] for track in tracks]
    scale = 940 / max(map(sum, lengths))
    colours = {}
    body = "<code>timeline.otio, --handles 1</code>"
    for track, seconds in zip(tracks, lengths):
        at, bars = 0, ""
        for part, length in zip(track["children"], seconds):
            gap = part["OTIO_SCHEMA"].startswith("Gap")
            colour = "#a3abb9" if gap else colours.setdefault(part["name"], ["#2f6f8f", "#8f5a2f", "#4f7f3f"][len(colours) % 3])
            edge = 0 if gap else scale
            start = part["source_range"]["start_time"]
            begin = start["value"] / start["rate"]
            words = "" if gap else f"{begin:.1f}–{begin + length:.1f} s"
            bars += f"<div style='left:{at:.1f}px;width:{length * scale - 2:.1f}px;background:{colour}'>"
            bars += "".join(f"<div style='top:0;background:#fff6;{side}:0;width:{edge}px'></div>" for side in ("left", "right"))
            bars += f"<span style='left:{edge + 5:.0f}px'>{'gap' if gap else part['name']}<br>{words}</span></div>"
            at += length * scale
        body += f"<div style='margin-top:8px'>{track['name']}</div><div class=track style='width:940px'>{bars}</div>"
    markers = "<br>".join(html.escape(marker["name"]) for part in tracks[0]["children"] for marker in part.get("markers", []))
    studio.page("editors", f"{body}<div style='margin-top:8px'>Markers</div><div style='font-size:13px'>{markers}</div>", quality=())


def reading(studio):
    text = "Salsa\n\nMy aunt made this every summer.\n\nIngredients\n- 2 tomatoes\n- 1 lime\n\nMethod\n1. Dice the tomatoes.\n2. Squeeze the lime over them.\n3. Season with salt.\n"
    studio.open("/new")
    studio.browser.run("const t = document.querySelector('#text'); t.value = arguments[0]; t.dispatchEvent(new Event('input'))", text)
    studio.browser.wait("return document.querySelectorAll('#edit li').length === 3", what="three steps")
    studio.save("reading", ["main .two"])


def prefer(studio):
    studio.open("/new")
    studio.browser.run("""document.querySelector('.options').open = true;
        document.querySelectorAll('.options [type=range]').forEach((s, i) => { s.value = [-2, 1, 3][i]; s.dispatchEvent(new Event('input', {bubbles: true})); });
        document.querySelector('.options fieldset').style.padding = '14px';
        document.querySelector('[data-prefer=licence]').value = 'CC';""")
    studio.save("prefer", [".options fieldset"], quality=())


def watch(studio):
    path = studio.demonstration
    studio.open(path, 1060, 740)
    studio.browser.wait("return document.querySelector('#screen video.on')?.readyState >= 2", 90)
    studio.browser.run("document.querySelector('#s3 [data-action=seek]').click()")
    studio.browser.wait("return document.querySelector('#screen video.on').currentTime > 0.5", 90)
    studio.browser.keys("k")
    studio.save("watch", ["main"], at="#s3")


def compare(studio):
    path = studio.demonstration
    studio.open(path)
    clip = studio.browser.run("const o = document.querySelector('#s0 .other'); return Object.fromEntries([['video', 'video'], ['start_ms', 'start'], ['end_ms', 'end']].map(([k, d]) => [k, Number(o.dataset[d])]))")
    studio.post(f"/api{path}/changes", {"kind": "swap", "step": 0, "clip": clip})
    studio.open(path + "/compare?left=1")
    studio.save("compare", ["main"], 860)


def share(studio):
    path = studio.demonstration
    studio.open(path)
    studio.post(f"/api{path}/renders", {"width": 640, "height": 360})
    studio.open(path)
    studio.browser.wait("return document.querySelector('#video')", 240)
    link = studio.post(f"/api{path}/shares", {"days": 7})["path"]
    studio.open(link, 700)
    studio.browser.run("document.querySelector('main video').currentTime = 8")
    time.sleep(1)
    studio.save("share", ["main"], 740)


def main():
    stitch, demo, work = (str(pathlib.Path(sys.argv[1]).resolve()), *(pathlib.Path(name).resolve() for name in sys.argv[2:4]))
    pictures = [follow, overlays, screen_text, voice, fill_gaps, prefer, batch, editors, reading, watch, compare, share]
    studio = Studio(stitch, demo, work)
    try:
        for picture in pictures:
            if picture.__name__ in (sys.argv[4:] or [p.__name__ for p in pictures]):
                picture(studio)
    finally:
        studio.browser.close()
        if "site" in studio.__dict__:
            studio.site.stop()


if __name__ == "__main__":
    main()
