#!/usr/bin/env bash
# Four workers on this machine: shell.sh VIDEOS SHARDS LIBRARY
set -euo pipefail
videos=$1 shards=$2 library=$3 workers=()
for i in 1 2 3 4; do
  stitch index "$videos" --shard "$i/4" --out "$shards" --quiet & workers+=($!)
done
for worker in "${workers[@]}"; do wait "$worker"; done
stitch library verify "$shards"
stitch library merge "$shards" --library "$library"
