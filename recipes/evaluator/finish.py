"""A trained folder to what ships: features computed elsewhere by `mini` are `mini`'s own.

python finish.py TRAINED ../../models/evaluator-DOMAIN
"""

import hashlib
import json
import pathlib
import shutil
import sys

source, target = map(pathlib.Path, sys.argv[1:3])
target.mkdir(parents=True, exist_ok=True)
config = json.loads((source / "config.json").read_text())
config["encoder"]["name"] = config["encoder"]["name"].removeprefix("features:")
(target / "config.json").write_text(json.dumps(config, indent=2))
shutil.copy(source / "model.safetensors", target / "model.safetensors")
card = json.loads((source / "card.json").read_text())
card["name"] = target.name
card["origin"] = "recipes/evaluator"
card["licence"] = "MIT OR Apache-2.0"
card["sha256"] = {name: hashlib.sha256((target / name).read_bytes()).hexdigest() for name in ("config.json", "model.safetensors")}
(target / "card.json").write_text(json.dumps(card, indent=2) + "\n")
