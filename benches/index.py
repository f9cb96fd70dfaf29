"""Indexing with the default encoder: seconds of video per second, by size and decode mode.

    cargo xtask bench index

Each run starts the program and indexes one video of a minute into an empty library, so loading the models
counts. With key frames, which take a second or two, the median of three runs counts. No speech recognition
(`--speech never`). Also reports peak memory, and that of a video of eight minutes.
"""

import json
import os
import pathlib
import shutil
import tempfile

from measure import STITCH, ffmpeg, measure

SIZES = {"360p": "640x360", "720p": "1280x720", "1080p": "1920x1080"}
MODES = ["exact", "fast", "keyframes"]
# Moving shots of eight seconds with camera-like noise.
SHOTS = ["mandelbrot=size={0}:rate=30:start_scale={1}", "testsrc2=size={0}:rate=30", "cellauto=size={0}:rate=30:rule={1}"]


def material(folder, size, seconds):
    path = folder / f"{size}-{seconds}.mp4"
    shots = [SHOTS[i % 3].format(size, [3, 90 + i, 30][i % 3]) for i in range(seconds // 8 + 1)]
    inputs = [word for shot in shots for word in ("-f", "lavfi", "-t", "8", "-i", shot)]
    joined = "".join(f"[{i}:v]format=yuv420p,setsar=1[v{i}];" for i in range(len(shots)))
    joined += "".join(f"[v{i}]" for i in range(len(shots)))
    joined += f"concat=n={len(shots)}:v=1,noise=alls=8:allf=t"
    ffmpeg(*inputs, "-filter_complex", joined, "-t", seconds, "-c:v", "libx264", "-preset", "veryfast",
           "-crf", 26, path)
    return path


def index(folder, video, mode):
    def once():
        library = folder / "library"
        shutil.rmtree(library, ignore_errors=True)
        command = [STITCH, "index", video, "--library", library, "--decode", mode, "--speech", "never"]
        return measure(command, stderr=open(os.devnull, "w"))

    runs = sorted((once() for _ in range(3 if mode == "keyframes" else 1)), key=lambda run: run["wall_s"])
    return runs[len(runs) // 2]


def main():
    result = {}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for label, size in SIZES.items():
            video = material(folder, size, 60)
            for mode in MODES:
                cost = index(folder, video, mode)
                result[f"{label}_{mode}"] = {**cost, "times_real_time": round(60 / cost["wall_s"], 1)}
        long = material(folder, SIZES["360p"], 480)
        result["long_360p_exact"] = index(folder, long, "exact")
    result["peak_mb"] = max(one["peak_mb"] for one in result.values())
    print(json.dumps(result))


main()
