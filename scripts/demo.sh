#!/usr/bin/env bash
# The whole way from nothing to a demonstration. Every step knows what is already done, so a second
# run takes seconds.
set -euo pipefail
cd "$(dirname "$0")/.."

out=${STITCH_DEMO:-demo}
stitch="${CARGO_TARGET_DIR:-target}/release/stitch"

step() { printf '\n== %s\n' "$1"; }

step "what is needed"
scripts/setup.sh

step "the program (the first time this takes minutes)"
cargo build --release --workspace

step "the models"
"$stitch" models pull all-mpnet-base-v2 onnxruntime

step "the made-up library: 24 videos of cooking, woodworking and gardening"
"$stitch" world render --out "$out/library"

step "the index"
# One made by an earlier program's encoder answers nothing any more: it is made anew.
if [ -d "$out/index" ] && ! "$stitch" -q search "stir" --library "$out/index" >/dev/null 2>&1; then
  rm -r "$out/index"
fi
"$stitch" index "$out/library" --library "$out/index"

step "the demonstration"
"$stitch" make examples/vegan-taco.txt --library "$out/index" --with html -o "$out/vegan-taco.mp4"
