"""CPU time of joining ten 12 s clips of mixed sources: stitch against moviepy, in one run.

    python3 -m venv /tmp/venv && /tmp/venv/bin/pip install moviepy psutil
    cargo bench -p stitch-engine --bench render --no-run
    /tmp/venv/bin/python benches/render.py [SECONDS OF A CLIP]

Both fit every clip into 1280x720 at 30 fps, bring its sound to one level and write H.264 and AAC.
moviepy is run as it comes (x264's preset medium) and with stitch's preset (veryfast). Prints one line
of JSON; CPU is user and system time of all processes, memory the largest sum over the processes
that run at one time.
"""

import json
import pathlib
import resource
import subprocess
import sys
import tempfile
import threading
import time

import psutil

ROOT = pathlib.Path(__file__).resolve().parent.parent
CLIP_S = int(sys.argv[1]) if len(sys.argv) > 1 else 12
CLIPS = 10
# name, size, frames per second, sound
SOURCES = [
    ("a.mp4", "1920x1080", 30, "sine=frequency=300:sample_rate=44100"),
    ("b.mkv", "1280x720", 25, "anoisesrc=color=pink:amplitude=0.1"),
    ("c.mp4", "720x1280", 30, "sine=frequency=500"),
    ("d.mp4", "640x480", 24, None),
    ("e.mp4", "854x480", 60, "anoisesrc=color=brown:amplitude=0.4"),
]
MOVIEPY = """
import json, sys
from moviepy import ColorClip, CompositeVideoClip, VideoFileClip, afx, concatenate_videoclips
cuts, out, preset = json.load(open(sys.argv[1])), sys.argv[2], sys.argv[3]
clips = []
for path, start, end in cuts:
    clip = VideoFileClip(path).subclipped(start, end)
    factor = min(1280 / clip.w, 720 / clip.h)
    clip = clip.resized(factor) if factor != 1 else clip
    if clip.audio is not None:
        clip = clip.with_effects([afx.AudioNormalize()])
    clips.append(clip)
whole = concatenate_videoclips(clips, method="compose")
whole.write_videofile(out, fps=30, codec="libx264", preset=preset, audio_codec="aac", logger=None)
"""


def make_sources(folder):
    for name, size, fps, sound in SOURCES:
        pictures = f"testsrc2=size={size}:rate={fps}"
        command = ["ffmpeg", "-v", "error", "-y", "-f", "lavfi", "-i", pictures]
        command += ["-f", "lavfi", "-i", sound] if sound else []
        command += ["-t", str(2 * CLIP_S + 2), "-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv420p"]
        subprocess.run([*command, "-c:a", "aac", str(folder / name)], check=True)
    return [folder / name for name, *_ in SOURCES]


def demonstration(cuts):
    def step(i, path, start, end):
        interval = {"start_ms": start * 1000, "end_ms": end * 1000}
        source = {"video": i, "path": path, "title": path, "uploader": None, "url": None, "licence": None}
        chosen = {"clip": i, "source": source, "span": interval, "cut": interval, "speed": 1.0,
                  "text": "", "narration": "", "similarity": {"text": 0, "clip": 0, "fused": 0}}
        return {"text": f"Step {i}", "chosen": chosen, "alternatives": []}
    steps = [step(i, *cut) for i, cut in enumerate(cuts)]
    return {"version": 1, "title": "bench", "steps": steps, "scorer": "", "score": 0, "candidates": 1,
            "source_changes": 0, "seed": 0, "models": {}}


def measure(command):
    """CPU seconds, wall seconds and peak megabytes of a command and all it starts."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.time()
    process = subprocess.Popen([str(word) for word in command], stdout=subprocess.DEVNULL)
    peak = [0]
    watcher = threading.Thread(target=watch, args=(process, peak))
    watcher.start()
    if process.wait() != 0:
        sys.exit(f"failed: {command}")
    watcher.join()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"cpu_s": round(cpu, 1), "wall_s": round(time.time() - began, 1),
            "peak_mb": round(peak[0] / 1e6)}


def watch(process, peak):
    while process.poll() is None:
        total = 0
        try:
            root = psutil.Process(process.pid)
            for one in [root, *root.children(recursive=True)]:
                try:
                    total += one.memory_info().rss
                except psutil.Error:
                    pass
        except psutil.Error:
            pass
        peak[0] = max(peak[0], total)
        time.sleep(0.05)


def main():
    ours = sorted((ROOT / "target/release/deps").glob("render-*"), key=lambda p: p.stat().st_mtime)
    ours = [path for path in ours if not path.suffix]
    if not ours:
        sys.exit("first: cargo bench -p stitch-engine --bench render --no-run")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        sources = make_sources(folder)
        cuts = [(str(sources[i % len(sources)]), 1 + i // 5 * CLIP_S, 1 + CLIP_S + i // 5 * CLIP_S) for i in range(CLIPS)]
        (folder / "cuts.json").write_text(json.dumps(cuts))
        (folder / "demo.json").write_text(json.dumps(demonstration(cuts)))
        (folder / "with_moviepy.py").write_text(MOVIEPY)
        moviepy = [sys.executable, folder / "with_moviepy.py", folder / "cuts.json"]
        result = {
            "stitch": measure([ours[-1], folder / "demo.json", folder / "ours.mp4", folder / "cache"]),
            "moviepy": measure([*moviepy, folder / "medium.mp4", "medium"]),
            "moviepy_veryfast": measure([*moviepy, folder / "veryfast.mp4", "veryfast"]),
        }
        for name, file in [("stitch", "ours"), ("moviepy", "medium"), ("moviepy_veryfast", "veryfast")]:
            result[name]["file_mb"] = round((folder / f"{file}.mp4").stat().st_size / 1e6, 1)
    for name in ["moviepy", "moviepy_veryfast"]:
        result[f"cpu_of_{name}"] = round(result["stitch"]["cpu_s"] / result[name]["cpu_s"], 3)
    print(json.dumps(result))


main()
