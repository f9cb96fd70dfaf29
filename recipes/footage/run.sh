#!/usr/bin/env bash
# run.sh STITCH CLIPS WORLD WORK: the decision about gaps for clips without words (README.md).
set -euo pipefail
stitch=$1 clips=$2 world=$3 work=$4 here=$(dirname "$0")
python3 "$here/labels.py" "$clips" "$work"
"$stitch" index "$clips" --library "$work/library" --speech never
for set in all third0 third1 third2; do
  rm -rf "$work/$set"
  cp -r "$work/library" "$work/$set"
  removed=$(cat "$work/$set.remove")
  [ -z "$removed" ] || "$stitch" -q library remove $removed --library "$work/$set"
  "$stitch" eval natural "$work/$set.jsonl" --library "$work/$set" --rows "$work/$set.rows.jsonl"
done
mkdir -p "$work/mute"
cp "$world"/*.mp4 "$work/mute"
"$stitch" index "$work/mute" --library "$work/drawn" --speech never --decode keyframes
"$stitch" eval natural "$here/../../crates/lab/data/natural/development.jsonl" --world "$world" --library "$work/drawn" \
  --rows "$work/drawn.rows.jsonl"
python3 "$here/fit.py" "$work"/{all,third0,third1,third2}.rows.jsonl --made-up "$work/drawn.rows.jsonl" --diagram "$work/footage.svg"
