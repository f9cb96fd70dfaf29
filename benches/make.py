"""One `stitch make` by stage, with an empty cache and a second time.

    make demo && cargo xtask bench make

Runs on the library that `make demo` leaves. The stages are those that `--json` reports; a stage lasts
until the next one begins.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

from measure import ROOT, STITCH

INDEX = pathlib.Path(os.environ.get("STITCH_DEMO", ROOT / "demo")) / "index"


def stages(command, environment):
    began, now, lasted = time.time(), "starting", {}
    last = began
    process = subprocess.Popen([str(word) for word in command], env=environment, text=True,
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    for line in process.stderr:
        event = json.loads(line)
        if event.get("event") == "begin":
            here = time.time()
            lasted[now] = lasted.get(now, 0) + here - last
            now, last = event["stage"], here
    if process.wait() != 0:
        sys.exit(f"failed: {command}")
    lasted[now] = lasted.get(now, 0) + time.time() - last
    whole = {"whole": time.time() - began}
    return {stage: round(seconds, 2) for stage, seconds in {**lasted, **whole}.items()}


def main():
    if not (INDEX / "library.db").is_file():
        print(json.dumps({"skipped": "`make demo` makes the library first"}))
        return
    found = subprocess.run([STITCH, "models", "path", "all-mpnet-base-v2"], capture_output=True, check=True, text=True)
    with tempfile.TemporaryDirectory() as name:
        home = pathlib.Path(name)
        (home / "models").symlink_to(pathlib.Path(found.stdout.strip()).parent)  # all else starts empty
        command = [STITCH, "make", ROOT / "examples/vegan-taco.txt", "--library", INDEX, "--json",
                   "--with", "html", "-o", home / "demo.mp4"]
        runs = [stages(command, {**os.environ, "STITCH_HOME": name}) for _ in range(2)]
    print(json.dumps(dict(zip(["first", "again"], runs))))


main()
