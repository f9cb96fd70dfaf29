"""Twenty procedures by one `stitch make` against twenty runs, and the memory of 20 and 200 procedures.

    make demo && cargo xtask bench batch

Runs on the library that `make demo` leaves, with procedures of `stitch eval natural`. Each side begins with an
empty cache, which the twenty runs share as well. Memory is measured without videos.
"""

import json
import os
import pathlib
import subprocess
import tempfile

from measure import ROOT, STITCH, measure

INDEX = pathlib.Path(os.environ.get("STITCH_DEMO", ROOT / "demo")) / "index"
TEXTS = ROOT / "crates/lab/data/natural/development.jsonl"


def main():
    if not (INDEX / "library.db").is_file():
        print(json.dumps({"skipped": "`make demo` makes the library first"}))
        return
    found = subprocess.run([STITCH, "models", "path", "all-mpnet-base-v2"], capture_output=True, check=True, text=True)
    models = pathlib.Path(found.stdout.strip()).parent
    texts = [json.loads(line)["text"] for line in TEXTS.open()]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        files = [folder / f"{number}.txt" for number in range(200)]
        for number, file in enumerate(files):  # a title of its own makes every copy another text
            file.write_text(f"Number {number}\n\n{texts[number % len(texts)]}")
        homes = {side: home(folder / side, models) for side in ["single", "batch"]}
        make = [STITCH, "make", "--quiet", "--library", INDEX, "--gaps", "never", "--size", "640x360"]
        run = lambda side, *rest: measure([*make, *rest], env={**os.environ, "STITCH_HOME": str(homes[side])})
        single = [run("single", file, "-o", folder / "single" / f"{file.stem}.mp4") for file in files[:20]]
        batch = run("batch", *files[:20], "-o", f"{folder}/batch/out/")
        few, many = (run("batch", "--no-video", *files[:count], "-o", f"{folder}/{count}/") for count in (20, 200))
    singles = {unit: round(sum(one[unit] for one in single), 2) for unit in ["cpu_s", "wall_s"]}
    print(json.dumps({"single": singles, "batch": batch, "cpu_share": round(batch["cpu_s"] / singles["cpu_s"], 3),
                      "few": few, "many": many, "memory_ratio": round(many["peak_mb"] / few["peak_mb"], 3)}))


def home(folder, models):
    folder.mkdir()
    (folder / "models").symlink_to(models)  # all else starts empty
    return folder


main()
