"""CPU time of sampling a video 8 times a second at 256x256: stitch against PyAV, in one run.

    cargo xtask bench decode

Forty seconds of moving, noisy H.264 at three sizes. Both decode every frame, keep eight a second and
resize them to 256x256 in red, green and blue. Figures are seconds of video per CPU second.
"""

import json
import pathlib
import sys
import tempfile

from measure import bench, ffmpeg, measure

SECONDS = int(sys.argv[1]) if len(sys.argv) > 1 else 40
SIZES = {"360p": "640x360", "720p": "1280x720", "1080p": "1920x1080"}
PYAV = """
import sys, av
with av.open(sys.argv[1]) as file:
    stream = file.streams.video[0]
    stream.thread_count = 1
    wanted, kept = 0, 0
    for frame in file.decode(stream):
        if frame.time * 8 >= wanted:
            wanted += 1
            kept += len(bytes(frame.reformat(width=256, height=256, format="rgb24", interpolation="BICUBIC").planes[0]))
"""


def material(folder, size):
    path = folder / f"{size}.mp4"
    source = f"mandelbrot=size={size}:rate=30:end_pts=900,noise=alls=6:allf=t"
    ffmpeg("-f", "lavfi", "-i", source, "-t", SECONDS, "-c:v", "libx264", "-preset", "veryfast",
           "-crf", 26, "-pix_fmt", "yuv420p", path)
    return path


def main():
    result = {}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "with_pyav.py").write_text(PYAV)
        for label, size in SIZES.items():
            path = material(folder, size)
            rate = lambda command: round(SECONDS / measure(command)["cpu_s"], 2)
            result[label] = {
                "stitch": rate([bench("decode"), path]),
                "pyav": rate([sys.executable, folder / "with_pyav.py", path]),
            }
    print(json.dumps(result))


main()
