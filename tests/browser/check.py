#!/usr/bin/env python3
"""Browser tests of the web interface: enter a procedure, watch, swap, search again, export; the study with two
raters; keyboard only; accessibility with axe. Writes screenshots of every view and prints their folder.

    tests/browser/check.py STITCH OUT [--library LIBRARY] [--axe axe.min.js]

Without --library, a small made-up library is rendered and indexed with the small sentence model of the tests.
"""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time
import urllib.parse
import urllib.request

from webdriver import Browser

ROOT = pathlib.Path(__file__).resolve().parents[2]
# In the words of the library: the sentence model of these tests has random weights, so only equal words are sure.
RECIPE = """Vegan tacos

1. Let the black beans simmer over a low flame
2. Mash the avocado in a bowl
3. Hold the lettuce under running water and rinse the lettuce well
4. Shred the lettuce with the knife
5. Chop the tomato into pieces
6. Warm the tortilla in a dry pan
7. Cut the lime in half and squeeze the lime over the taco
"""
LISTED = "Salsa\n\nIngredients\n- 2 tomatoes\n- 1 lime\n- salt\n\nMethod\n1. Dice the tomatoes.\n2. Squeeze the lime over them.\n3. Season with salt.\n"
SIZES = [(1280, "light"), (1280, "dark"), (390, "light"), (390, "dark")]


class Site:
    """A server with a library and a study."""

    def __init__(self, stitch, out, library, study=True):
        self.stitch, self.out = stitch, out
        self.environment = dict(os.environ)
        self.port = 0
        self.library = library or self.render()
        self.study = self.make_study() if study else None
        self.start()

    def run(self, *arguments):
        command = [self.stitch, *arguments, "--library", self.library]
        done = subprocess.run(command, env=self.environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{command}: {done.stderr}"
        return done.stdout

    def render(self):
        home = self.out / "home"
        shutil.copytree(ROOT / "crates/engine/tests/data/tiny-mpnet", home / "models/tiny-mpnet", dirs_exist_ok=True)
        self.environment |= {"STITCH_HOME": str(home), "STITCH_SENTENCE_MODEL": "tiny-mpnet", "STITCH_ENCODER": "narration"}
        self.library = str(self.out / "index")
        videos = str(self.out / "videos")
        self.run("world", "render", "--out", videos, "--videos", "12", "--size", "320x180")
        self.run("index", videos, "--speech", "never")
        return self.library

    def make_study(self):
        folder = self.out / "study"
        shutil.rmtree(folder, ignore_errors=True)
        recipes = [str(ROOT / f"examples/{name}.txt") for name in ("vegan-taco", "herb-planter")]
        methods = ["--method", "similarity", "--method", "most-similar"]
        self.run("study", "new", *recipes, *methods, "--out", str(folder))
        return folder

    def start(self):
        command = [self.stitch, "serve", "--port", str(self.port), "--json", "--library", self.library, "--root", str(self.out)]
        command += ["--study", str(self.study)] if self.study else []
        log = open(self.out / "server.log", "a")
        self.server = subprocess.Popen(command, env=self.environment, stdout=subprocess.PIPE, stderr=log, text=True)
        for line in self.server.stdout:
            event = json.loads(line)
            if event.get("event") == "serving":
                self.link, self.raters_link = event["url"], event["study_url"]
                link = urllib.parse.urlsplit(self.link)
                self.url = f"http://{link.netloc}"
                self.headers = {"authorization": "Bearer " + link.query.removeprefix("token=")}
                self.port = link.port  # the same after a restart
                return
        raise SystemExit(f"the server does not start; see {log.name}")

    def stop(self):
        self.server.terminate()
        self.server.wait(30)

    def get(self, path):
        request = urllib.request.Request(self.url + path, headers=self.headers)
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.read()


class Checks:
    """The checks, in one browser."""

    def __init__(self, site, browser, out, axe):
        self.site, self.browser, self.out, self.axe = site, browser, out, axe
        self.measured = {}
        self.browser.open(site.link)  # sets the cookie

    def open(self, path):
        self.browser.open(self.site.url + path)
        self.browser.wait("return document.readyState === 'complete'")

    def shots(self, name, path=None):
        """Screenshots of the view in every size and colour scheme, each checked with axe."""
        for width, scheme in SIZES:
            self.browser.look(width, 900, scheme)
            if path:
                self.open(path)
            # Pictures below the window load only when they are scrolled into view.
            self.browser.run("document.querySelectorAll('img').forEach((i) => { i.loading = 'eager'; })")
            self.browser.wait("return [...document.images].every((i) => i.complete)", 60)
            self.browser.run("scrollTo({top: 0, behavior: 'instant'})")
            time.sleep(0.2)
            self.browser.shot(self.out / f"{name}-{width}-{scheme}.png")
            wide = self.browser.run("return document.documentElement.scrollWidth")
            assert wide <= width, f"{name} is {wide} px wide at {width}"
            self.accessible(f"{name} {width} {scheme}")
        self.browser.look(1280)

    def accessible(self, name):
        if not self.axe:
            return
        # The DevTools protocol is not subject to the page's content security policy.
        self.browser.cdp("Runtime.evaluate", expression=self.axe)
        found = self.browser.run_later("axe.run().then((r) => arguments[0](r.violations))")
        serious = [(v["id"], [n["html"][:120] for n in v["nodes"][:3]]) for v in found if v["impact"] in ("serious", "critical")]
        assert not serious, f"{name}: {serious}"
        self.measured["axe views without serious findings"] = self.measured.get("axe views without serious findings", 0) + 1

    def calm(self):
        """No layout shift while the page loads, and no request to other hosts."""
        shift = self.browser.run_later("""
            const done = arguments[0]; let sum = 0;
            new PerformanceObserver((l) => l.getEntries().forEach((e) => { if (!e.hadRecentInput) sum += e.value; })).observe({type: 'layout-shift', buffered: true});
            setTimeout(() => done(sum), 300);""")
        assert shift < 0.02, f"layout shift {shift}"
        hosts = self.browser.run("return [...new Set(performance.getEntriesByType('resource').map((e) => new URL(e.name).host))]")
        assert all(host == self.browser.run("return location.host") for host in hosts), hosts
        return shift

    def first_paint(self, path):
        paints = []
        for _ in range(5):
            self.open(path)
            paints.append(self.browser.wait("return performance.getEntriesByName('first-contentful-paint')[0]?.startTime"))
        return sorted(paints)[2]

    def library(self):
        self.open("/")
        pictures = self.browser.run("return document.querySelectorAll('.videos img').length")
        assert pictures > 0
        self.shots("library", "/")
        self.measured["first contentful paint, library, ms (median of 5)"] = round(self.first_paint("/"))
        self.measured["layout shift, library"] = round(self.calm(), 4)
        self.browser.type("#q", "tomato")
        self.browser.wait("return document.querySelectorAll('#hits li').length", what="search as you type")
        self.shots("search")
        self.browser.click("#hits li button")
        self.browser.wait("const v = document.querySelector('#clip video'); return v.currentTime > 0.2 || (v.error && 'no')", what="a hit plays")
        self.browser.keys("Escape")

    def new(self):
        self.open("/new")
        self.browser.run("const t = document.querySelector('#text'); t.value = arguments[0]; t.dispatchEvent(new Event('input'))", RECIPE)
        self.browser.wait("return document.querySelectorAll('#edit li').length === 7", what="seven steps")
        assert self.browser.run("return document.querySelector('#title').value") == "Vegan tacos"
        self.shots("new")
        # Move, merge and split steps with the keyboard.
        texts = "return [...document.querySelectorAll('#edit textarea')].map((t) => t.value)"
        before = self.browser.run(texts)
        self.browser.run("document.querySelectorAll('#edit textarea')[1].focus()")
        self.browser.keys("Alt+ArrowUp")
        moved = self.browser.run(texts)
        assert moved[:2] == [before[1], before[0]], moved
        self.browser.keys("Alt+ArrowDown")
        self.browser.run("const t = document.querySelectorAll('#edit textarea')[1]; t.focus(); t.setSelectionRange(4, 4)")
        self.browser.keys("Enter")
        assert len(self.browser.run(texts)) == 8
        self.browser.keys("\ue003")
        assert len(self.browser.run(texts)) == 7
        self.browser.run("const t = document.querySelector('#text'); t.dispatchEvent(new Event('input'))")
        self.browser.wait("return document.querySelectorAll('#edit textarea')[1].value.startsWith('Mash')")
        self.browser.click("#go")
        self.browser.wait("return location.pathname.startsWith('/demonstrations/') && document.querySelector('#steps')", 60, "the demonstration is found")
        self.path = self.browser.run("return location.pathname")

    def reading(self):
        """Lines that are no steps are listed; one becomes a step where it stands in the text, and is dropped again."""
        self.open("/new")
        self.browser.run("const t = document.querySelector('#text'); t.value = arguments[0]; t.dispatchEvent(new Event('input'))", LISTED)
        self.browser.wait("return document.querySelectorAll('#edit li').length === 3", what="three steps")
        left = "return [...document.querySelectorAll('#left span')].map((s) => s.textContent)"
        lines = self.browser.run(left)
        assert {"Ingredients", "- 2 tomatoes", "Method"} <= set(lines), lines
        self.shots("reading")
        at = lines.index("- 2 tomatoes") + 1
        self.browser.click(f"#left li:nth-child({at}) button")
        texts = "return [...document.querySelectorAll('#edit textarea')].map((t) => t.value)"
        steps = self.browser.run(texts)
        assert steps[0] == "2 tomatoes" and len(steps) == 4, steps
        assert self.browser.run("return document.activeElement.value") == "2 tomatoes", "the new step has the focus"
        assert "- 2 tomatoes" not in self.browser.run(left)
        self.browser.click("#edit li [data-action=step-drop]")
        assert len(self.browser.run(texts)) == 3
        assert "2 tomatoes" in self.browser.run(left), "a dropped step can be taken back"

    def chosen(self, step):
        return self.browser.run("return document.querySelectorAll('#steps > li')[arguments[0]].dataset.clip", step)

    def end(self, step):
        return int(self.browser.run("return document.querySelectorAll('#steps > li')[arguments[0]].dataset.end", step))

    def watch(self):
        self.measured["layout shift, demonstration"] = round(self.calm(), 4)
        self.browser.wait("return document.querySelector('#screen video.on')?.readyState >= 2", what="the first clip is there")
        self.shots("demonstration")
        self.browser.click("#play")
        playing = "return document.querySelector('#screen video.on').currentTime"
        first = self.browser.run(playing)
        self.browser.wait(f"return (() => {{ {playing} }})() > {first} + 0.5", what="time goes on")
        self.browser.wait("return document.querySelector('#caption').textContent.startsWith('1.')", what="a caption")
        # The player continues with the next clip, and the list follows.
        self.browser.run("document.querySelector('#steps > li [data-action=seek]').click()")
        self.browser.wait("return document.querySelectorAll('#steps > li')[1].getAttribute('aria-current')", 60, "the second step")
        self.browser.wait("const v = document.querySelector('#screen video.on'); return !v.paused && v.currentTime > 0", what="the second clip plays")
        self.browser.keys("k")

    def changes(self):
        step = self.browser.run("return [...document.querySelectorAll('#steps > li')].findIndex((s) => s.querySelector('.other'))")
        row = f"#s{step}"
        before = self.chosen(step)
        took = []

        def change(act):
            count = self.browser.run("return Number(document.body.dataset.changes || 0)")
            act()
            self.browser.wait(f"return Number(document.body.dataset.changes || 0) > {count}", what="the change is made")
            took.append(int(self.browser.run("return document.body.dataset.took")))

        self.browser.run("const o = document.querySelector(arguments[0] + ' .other'); o.dispatchEvent(new PointerEvent('pointerover', {bubbles: true}))", row)
        self.browser.wait(f"return document.querySelector('{row} .other video')?.currentTime > 0", what="an alternative plays on hover")
        change(lambda: self.browser.click(f"{row} .other"))
        swapped = self.chosen(step)
        assert swapped != before, swapped
        self.browser.wait("const v = document.querySelector('#screen video.on'); return !v.paused && v.readyState >= 2", what="the swapped clip plays at once")
        assert self.browser.run(f"return document.querySelector('{row}').classList.contains('locked')")
        change(lambda: self.browser.click("[data-change=solve]"))
        assert self.chosen(step) == swapped, "a lock is kept"
        end = self.end(step)
        self.browser.click(f"{row} [data-action=trim]")
        self.shots("trim")
        self.browser.run("const i = document.querySelectorAll(arguments[0] + ' [data-trim]')[1]; i.value = Number(i.value) - 500; i.dispatchEvent(new Event('input', {bubbles: true}))", row)
        change(lambda: self.browser.click(f"{row} [data-action=trim-apply]"))
        assert self.chosen(step) == swapped and self.end(step) < end, "trimmed"
        change(lambda: self.browser.click(f"{row} [data-change=ban]"))
        assert self.chosen(step) != swapped
        for _ in range(4):
            change(lambda: self.browser.click("[data-change=undo]"))
        assert self.chosen(step) == before, "undone"
        self.measured["changes in the browser, ms (all)"] = took
        assert sorted(took)[len(took) // 2] < 1000, took

    def keyboard(self):
        """The same with the keyboard only."""
        self.open(self.path)
        self.browser.keys("Tab")
        assert self.browser.run("return document.activeElement.className") == "skip"
        seen = set()
        for _ in range(40):
            self.browser.keys("Tab")
            seen.add(self.browser.run("const e = document.activeElement; return e.dataset.change || e.dataset.action || e.id || e.tagName"))
            outline = self.browser.run("return getComputedStyle(document.activeElement).outlineStyle")
            assert outline != "none", f"no visible focus on {seen}"
        assert {"solve", "play", "position"} <= seen, seen
        self.browser.run("document.activeElement.blur()")

        def key(name):
            count = self.browser.run("return Number(document.body.dataset.changes || 0)")
            self.browser.keys(name)
            self.browser.wait(f"return Number(document.body.dataset.changes || 0) > {count}", what=f"key {name}")

        before = self.chosen(0)
        key("l")
        assert self.browser.run("return document.querySelector('#s0').classList.contains('locked')")
        key("1")
        assert self.chosen(0) != before
        key("u")
        key("u")
        assert self.chosen(0) == before
        self.browser.run("document.activeElement.blur()")
        self.browser.keys("n")
        assert self.browser.run("return document.querySelectorAll('#steps > li')[1].getAttribute('aria-current')") == "step"
        self.browser.keys("?")
        assert self.browser.run("return document.querySelector('#keys').open")
        self.shots("keys")
        self.browser.keys("Escape")

    def export(self):
        self.browser.run("document.querySelector('#render [name=size]').value = '640x360'")
        self.browser.click("#render .primary")
        self.browser.wait("return document.querySelector('#video')", 180, "the video is made")
        self.browser.run("document.querySelector('#video').play()")
        self.browser.wait("const v = document.querySelector('#video'); return v.currentTime > 0.5 && v.textTracks.length === 2", what="the video plays, with captions and chapters")
        self.shots("rendered")
        address = self.browser.run("return new URL(document.querySelector('#video').src).pathname")
        file = self.out / "export.mp4"
        file.write_bytes(self.site.get(address))
        probe = subprocess.run(["ffprobe", "-v", "error", "-show_format", "-show_chapters", "-of", "json", file], capture_output=True, text=True, check=True)
        probe = json.loads(probe.stdout)
        assert float(probe["format"]["duration"]) > 5 and len(probe["chapters"]) == 7, probe
        for link in self.browser.run("return [...document.querySelectorAll('.downloads a')].map((a) => new URL(a.href).pathname)"):
            assert self.site.get(link), link
        self.measured["rendered, seconds"] = float(probe["format"]["duration"])

    def sound(self):
        """A narrator and a crop that follows, chosen with the keyboard; the confidence of every step in words."""
        self.open(self.path)
        badges = self.browser.run("return [...document.querySelectorAll('#steps .number .badge')].map((b) => b.textContent)")
        assert any(badge in ("shown", "perhaps shown", "not shown") for badge in badges), badges
        for name, keys, value in [("voice", ["a"], "en-us"), ("shape", ["c", "c"], "follow"), ("size", ["7"], "720x1280"), ("source_sound", ["o"], "off")]:
            self.browser.run(f"document.querySelector('#render [name={name}]').focus()")
            for key in keys:
                self.browser.keys(key)
                time.sleep(0.1)
            chosen = self.browser.run(f"return document.querySelector('#render [name={name}]').value")
            assert chosen == value, f"{name}: {chosen}"
        self.shots("sound")
        before = self.browser.run("return document.querySelector('#video')?.src || ''")
        self.browser.run("document.querySelector('#render .primary').focus()")
        self.browser.keys("Enter")
        self.browser.wait(f"const v = document.querySelector('#video'); return v && v.src !== {json.dumps(before)}", 240, "the video is made")
        words = json.loads(self.site.get(f"/api{self.path}/exports/json"))["voiceover"]
        assert words["voice"] == "espeak:en-us", words
        self.browser.wait("return document.querySelector('#video').videoHeight === 1280", what="the shape of the video")

    def share(self):
        """A link that opens without the token, by keyboard, and ends."""
        self.open(self.path)
        self.browser.run("document.querySelector('[data-action=share]').focus()")
        self.browser.keys("Enter")
        link = self.browser.wait("return document.querySelector('#shared').textContent.startsWith('http') && document.querySelector('#shared').textContent", what="a link")
        self.browser.call("DELETE", f"{self.browser.session}/cookie")
        self.browser.open(link)
        assert self.browser.run("return document.querySelectorAll('main ol li').length") == 7
        assert not self.browser.run("return document.querySelector('nav')"), "it leads nowhere else"
        self.browser.run("document.querySelector('main video').play()")
        self.browser.wait("return document.querySelector('main video').currentTime > 0.3", what="the shared video plays")
        self.shots("shared", urllib.parse.urlsplit(link).path)
        self.browser.open(self.site.link)
        self.open(self.path)
        self.browser.run("document.querySelector('[data-action=unshare]').focus()")
        self.browser.keys("Enter")
        self.browser.wait("return document.querySelector('#shared').textContent.includes('ended')", what="the links have ended")

    def compare(self):
        """Two versions side by side, chosen with the keyboard."""
        self.open(self.path + "/compare?left=1")
        assert self.browser.run("return document.querySelectorAll('.two .card').length") == 14
        self.shots("compare", self.path + "/compare?left=1")
        self.browser.run("document.querySelector('select[name=right]').focus()")
        self.browser.keys("1")
        self.browser.run("document.querySelector('form button').focus()")
        self.browser.keys("Enter")
        self.browser.wait("return location.search === '?left=1&right=1' && !document.querySelector('h2 .badge')", what="no difference")

    def batch(self):
        """Two procedures from files become demonstrations; one that cannot be read is told."""
        self.open("/batch")
        rows = self.browser.run("return document.querySelectorAll('tbody tr').length")
        self.browser.run("""
            const files = new DataTransfer();
            arguments[0].forEach(([name, text]) => files.items.add(new File([text], name)));
            document.querySelector('#files').files = files.files; document.querySelector('#make-all').focus();""",
            [["tacos.txt", RECIPE], ["salsa.txt", LISTED]])
        self.browser.keys("Enter")
        self.browser.wait(f"return document.querySelectorAll('tbody tr').length === {rows + 2} && !document.querySelector('tr[data-live]')", 120, "both are found")
        self.shots("batch", "/batch")
        self.browser.run("""
            const files = new DataTransfer(); files.items.add(new File([''], 'empty.txt'));
            document.querySelector('#files').files = files.files; document.querySelector('#make-all').focus();""")
        self.browser.keys("Enter")
        self.browser.wait("return document.querySelector('#batch-failed').textContent.includes('empty.txt')", what="what failed is told")
        assert any("422" in c or "400" in c for c in self.browser.complaints()), "the refusal"

    def rate(self, name, pick):
        self.open("/study")
        self.browser.type("#rater", name)
        self.browser.keys("Enter")
        for turn in range(2):
            self.browser.wait("return document.querySelector('#verdicts')", what="a pair")
            if turn == 0:
                self.browser.click("[data-action=both]")
                self.browser.wait("return [...document.querySelectorAll('.sides video')].every((v) => v.currentTime > 0.3)", what="both play")
                times = self.browser.run("return [...document.querySelectorAll('.sides video')].map((v) => v.currentTime)")
                assert abs(times[0] - times[1]) < 0.35, times
            for question in ("steps", "goal", "quality", "overall"):
                self.browser.run(f"document.querySelector('[name={question}][value={pick}]').click()")
            number = self.browser.run("return location.pathname")
            self.browser.click("#verdicts .primary")
            self.browser.wait(f"return location.pathname !== '{number}' && document.readyState === 'complete'", what="the next pair")
        self.browser.wait("return document.querySelector('h1').textContent === 'Thank you'", what="thanks")

    def study(self):
        self.shots("study", "/study")
        key = json.loads(self.post("/api/study/raters", {"name": "looks"}))["rater"]
        self.shots("pair", f"/study/{key}/1")
        self.rate("Ann", "left")
        self.browser.call("DELETE", f"{self.browser.session}/cookie")
        self.browser.open(self.site.raters_link)
        self.rate("Bob", "right")
        assert not self.browser.run("return document.querySelector('nav a[href=\"/new\"]')"), "raters see only the study"
        report = self.site.run("study", "report", str(self.site.study))
        assert "2 raters" in report and "Krippendorff" in report, report
        (self.out / "report.txt").write_text(report)

    def post(self, path, body):
        headers = {"content-type": "application/json", **self.site.headers}
        request = urllib.request.Request(self.site.url + path, data=json.dumps(body).encode(), headers=headers)
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.read()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("stitch")
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--library")
    parser.add_argument("--axe", type=pathlib.Path)
    parser.add_argument("--only", help="views, with commas between them")
    arguments = parser.parse_args()
    out = arguments.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    axe = arguments.axe.read_text() if arguments.axe else None
    views = arguments.only.split(",") if arguments.only else ["library", "reading", "new", "watch", "changes", "keyboard", "export", "sound", "share", "compare", "batch", "study"]
    site = Site(arguments.stitch, out, arguments.library, "study" in views)
    browser = Browser()
    checks = Checks(site, browser, out, axe)
    failed = False
    try:
        browser.look(1280)
        for name in views:
            getattr(checks, name)()
            complaints = [c for c in browser.complaints() if "favicon" not in c]
            assert not complaints, complaints
            print(f"ok      {name}", flush=True)
    except AssertionError as error:
        failed = True
        browser.shot(out / "failed.png")
        print(f"FAILED  {name}: {error}")
    finally:
        browser.close()
        site.stop()
    for what, value in checks.measured.items():
        print(f"        {what}: {value}")
    print(f"screenshots: {out}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
