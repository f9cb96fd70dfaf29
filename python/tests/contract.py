#!/usr/bin/env python3
"""Stands for `stitch --json index --out FOLDER -- VIDEOS`: a shard for each video, written once, and a report.

The name of a video says what happens to it: `broken` cannot be read, `crash` ends the program.
"""

import json
import os
import signal
import sys
from pathlib import Path

arguments = sys.argv[1 : sys.argv.index("--")]
videos = [Path(video) for video in sys.argv[sys.argv.index("--") + 1 :]]
out = Path(arguments[arguments.index("--out") + 1])
if not out.is_dir():
    print(json.dumps({"event": "error", "message": f"there is no {out}", "causes": [], "code": 1}), file=sys.stderr)
    sys.exit(1)
report = {"found": len(videos), "indexed": 0, "unchanged": 0, "duplicates": 0, "failed": [], "clips": 0}
for video in videos:
    if video.stem == "crash":
        os.kill(os.getpid(), signal.SIGKILL)
    if video.stem == "broken":
        report["failed"].append((str(video), "it cannot be read"))
        continue
    try:
        with open(out / video.stem, "x"):
            report["indexed"] += 1
            report["clips"] += 2
    except FileExistsError:
        report["unchanged"] += 1
print(json.dumps(report))
