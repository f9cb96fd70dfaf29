#!/usr/bin/env bash
# Tests the server against its OpenAPI description: schemathesis generates valid and invalid requests from it
# and checks every response. Installed in a virtual environment in the build folder.
set -euo pipefail
cd "$(dirname "$0")/.."

target="${CARGO_TARGET_DIR:-target}"
mkdir -p "$target/fuzz-api"
out="$(cd "$target/fuzz-api" && pwd)"

if [ ! -x "$out/venv/bin/schemathesis" ]; then
  python3 -m venv "$out/venv"
  if ! "$out/venv/bin/pip" install --quiet 'schemathesis>=4,<5'; then
    echo "fuzz-api: skipped, schemathesis cannot be installed"
    exit 0
  fi
fi

# A library with the small sentence model of the tests, and a study.
home="$out/home"
mkdir -p "$home/models" "$out/videos"
cp -r crates/engine/tests/data/tiny-mpnet "$home/models/"
export STITCH_HOME="$home" STITCH_SENTENCE_MODEL=tiny-mpnet STITCH_ENCODER=narration
stitch="${STITCH:-$target/release/stitch}"
"$stitch" world render --out "$out/videos" --videos 6 --size 160x90 >/dev/null
"$stitch" index "$out/videos" --speech never >/dev/null
[ -f "$out/study/study.json" ] || "$stitch" study new examples/vegan-taco.txt --method similarity \
  --method most-similar --out "$out/study" >/dev/null

# Tests a server that listens on the address.
check() {
  rm -rf "$home/library/page"
  "$stitch" serve --address "$1" --port 0 --json --root "$out/videos" --study "$out/study" >"$out/server.json" 2>"$out/server.log" &
  server=$!
  trap 'kill "$server" 2>/dev/null || true' EXIT
  for _ in $(seq 200); do
    grep -q url "$out/server.json" && break
    sleep 0.1
  done
  link=$(python3 -c 'import json,sys; print(json.loads(open(sys.argv[1]).readline())["url"])' "$out/server.json")
  url=${link%%/\?token=*}
  authorization="Authorization: Bearer ${link##*token=}"
  post() { curl -sf "$url$1" -H "$authorization" -H 'content-type: application/json' -d "$2" >/dev/null; }
  for _ in 1 2 3; do post /api/demonstrations '{"procedure":{"title":"Tacos","steps":["Dice a tomato","Squeeze a lime"]}}'; done
  sleep 2
  post /api/demonstrations/1/renders '{"width":160,"height":90}'
  # schemathesis keeps its state in the current folder
  (cd "$out" && "$out/venv/bin/schemathesis" run "$url/api/openapi.json" -H "$authorization" --checks not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance \
    --exclude-path-regex '/events$' --max-examples "${EXAMPLES:-60}" --phases examples,coverage,fuzzing --generation-deterministic --no-color \
    --suppress-health-check all --request-timeout 30)
  kill "$server" || { echo "fuzz-api: the server ended; see $out/server.log"; exit 1; }
  wait "$server" || true
}

for address in 127.0.0.1 0.0.0.0; do
  echo "fuzz-api: a server on $address"
  check "$address"
done
