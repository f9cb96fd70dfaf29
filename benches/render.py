"""CPU time of joining ten 12 s clips of mixed sources: stitch against moviepy, in one run.

    cargo xtask bench render
    python benches/render.py [SECONDS OF A CLIP]     # where moviepy and psutil are installed

Both fit every clip into 1280x720 at 30 fps, bring its sound to one level and write H.264 and AAC.
moviepy runs with its default (x264's preset medium) and with stitch's preset (veryfast). Prints one line
of JSON; CPU is user and system time of all processes, memory the largest sum over the processes
that run at one time. Then one clip is swapped for another and our side runs again with its cache.
"""

import json
import pathlib
import subprocess
import sys
import tempfile

from measure import bench, ffmpeg, measure

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
        sounds = ["-f", "lavfi", "-i", sound] if sound else []
        encoded = ["-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv420p", "-c:a", "aac"]
        ffmpeg("-f", "lavfi", "-i", pictures, *sounds, "-t", 3 * CLIP_S + 2, *encoded, folder / name)
    return [folder / name for name, *_ in SOURCES]


def demonstration(cuts):
    def step(i, path, start, end):
        interval = {"start_ms": start * 1000, "end_ms": end * 1000}
        source = {"video": i, "path": path, "title": path, "uploader": None, "url": None, "licence": None}
        chosen = {"clip": i, "source": source, "span": interval, "cut": interval, "speed": 1.0,
                  "text": "", "narration": "", "similarity": {"text": 0, "words": 0, "clip": 0, "probability": 1}}
        return {"text": f"Step {i}", "chosen": chosen, "alternatives": []}
    steps = [step(i, *cut) for i, cut in enumerate(cuts)]
    return {"version": 1, "title": "bench", "steps": steps, "scorer": "", "score": 0, "candidates": 1,
            "source_changes": 0, "seed": 0, "models": {}}


def main():
    ours = bench("render")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        sources = make_sources(folder)
        starts = [1 + i // 5 * CLIP_S for i in range(CLIPS)]
        cuts = [(str(sources[i % len(sources)]), at, at + CLIP_S) for i, at in enumerate(starts)]
        (folder / "cuts.json").write_text(json.dumps(cuts))
        (folder / "demo.json").write_text(json.dumps(demonstration(cuts)))
        swapped = [*cuts[:4], (cuts[4][0], 1 + 2 * CLIP_S, 1 + 3 * CLIP_S), *cuts[5:]]
        (folder / "swapped.json").write_text(json.dumps(demonstration(swapped)))
        (folder / "with_moviepy.py").write_text(MOVIEPY)
        moviepy = [sys.executable, folder / "with_moviepy.py", folder / "cuts.json"]
        again = [str(ours), folder / "swapped.json", folder / "swapped.mp4", folder / "cache"]
        result = {
            "stitch": measure([ours, folder / "demo.json", folder / "ours.mp4", folder / "cache"]),
            "swapped": json.loads(subprocess.run(again, capture_output=True, check=True).stdout),
            "moviepy": measure([*moviepy, folder / "medium.mp4", "medium"]),
            "moviepy_veryfast": measure([*moviepy, folder / "veryfast.mp4", "veryfast"]),
        }
        for name, file in [("stitch", "ours"), ("moviepy", "medium"), ("moviepy_veryfast", "veryfast")]:
            result[name]["file_mb"] = round((folder / f"{file}.mp4").stat().st_size / 1e6, 1)
    print(json.dumps(result))


main()
