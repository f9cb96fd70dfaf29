#!/usr/bin/env bash
# Makes demonstrations of small videos, opens their timelines with third-party readers, and calls the tools of agents.
# `--write` writes the table of the kinds of sources into docs/src/formats.md; without it the table there must be equal.
set -euo pipefail
cd "$(dirname "$0")/../.."
target=${CARGO_TARGET_DIR:-target}
venv=$target/interop-venv
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

if ! cmp -s tests/interop/requirements.txt "$venv/installed.txt"; then
  python3 -m venv "$venv"
  if ! "$venv/bin/python" -m pip install --quiet --disable-pip-version-check -r tests/interop/requirements.txt; then
    echo "interop: skipped: the readers could not be installed" >&2
    exit 0
  fi
  cp tests/interop/requirements.txt "$venv/installed.txt"
fi

export STITCH_HOME=$work/home STITCH_SENTENCE_MODEL=tiny-mpnet STITCH_ENCODER=narration
mkdir -p "$STITCH_HOME/models"
cp -r crates/engine/tests/data/tiny-mpnet "$STITCH_HOME/models/"
stitch=$PWD/$target/release/stitch
case $target in /*) stitch=$target/release/stitch ;; esac
timelines=otio,edl,fcpxml,xmeml,mlt
"$stitch" --quiet world render --out "$work/library" --videos 6 --size 320x180
"$stitch" --quiet index "$work/library"
printf '%s\n' "Dice the onion" "Fly to the moon" "Warm the tortillas" "Saw the board" "Water the seedlings" > "$work/steps.txt"
for fade in 0 0.5; do
  "$stitch" --quiet make "$work/steps.txt" --crossfade "$fade" --no-video --with $timelines -o "$work/demo.mp4" > /dev/null
  "$venv/bin/python" tests/interop/check.py "$work/demo"
done

"$venv/bin/python" tests/interop/agents.py "$stitch"

# A timeline of ten minutes out of every kind of source, without and with handles.
"$venv/bin/python" tests/interop/kinds.py "$work/kinds"
"${stitch%/*}/examples/timelines" "$work/kinds/demo.json" 0
cp "$work/kinds/demo.json" "$work/kinds/handles.json"
"${stitch%/*}/examples/timelines" "$work/kinds/handles.json" 500
"$venv/bin/python" tests/interop/check.py "$work/kinds/demo" --kinds docs/src/formats.md "$@"
