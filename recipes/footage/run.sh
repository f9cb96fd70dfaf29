#!/usr/bin/env bash
# run.sh STITCH CLIPS WORK: the decision about gaps for real clips without words (README.md).
set -euo pipefail
stitch=$1 clips=$2 work=$3 here=$(dirname "$0")
python3 "$here/labels.py" "$clips" "$work"
"$stitch" index "$clips" --library "$work/library" --speech never
for set in all third0 third1 third2; do
  rm -rf "$work/$set"
  cp -r "$work/library" "$work/$set"
  removed=$(cat "$work/$set.remove")
  [ -z "$removed" ] || "$stitch" -q library remove $removed --library "$work/$set"
  "$stitch" eval natural "$work/$set.jsonl" --library "$work/$set" --rows "$work/$set.rows.jsonl"
done
python3 "$here/fit.py" "$work"/*.rows.jsonl
