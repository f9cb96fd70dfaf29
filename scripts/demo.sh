#!/usr/bin/env bash
# Sets up, builds, renders and indexes the made-up library, and makes a demonstration. Every step skips what
# is done, so a second run takes seconds.
set -euo pipefail
cd "$(dirname "$0")/.."

out=${STITCH_DEMO:-demo}
stitch="${CARGO_TARGET_DIR:-target}/release/stitch"

step() { printf '\n== %s\n' "$1"; }

step "requirements"
scripts/setup.sh

step "build (minutes the first time)"
cargo build --release --workspace --bins --example timelines # as `make test` does, which then need not build again

step "models"
"$stitch" models pull all-mpnet-base-v2 onnxruntime

step "made-up library: 24 videos of cooking, woodworking and gardening"
"$stitch" world render --out "$out/library"

step "index"
# An index that was made with another version of the encoder cannot be used: make it again.
if [ -d "$out/index" ] && ! "$stitch" -q search "stir" --library "$out/index" >/dev/null 2>&1; then
  rm -r "$out/index"
fi
"$stitch" index "$out/library" --library "$out/index"

step "demonstration"
"$stitch" make examples/vegan-taco.txt --library "$out/index" --with html -o "$out/vegan-taco.mp4"
