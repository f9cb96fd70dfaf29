#!/usr/bin/env bash
# Trains models/evaluator, the evaluator that decides queries: renders and indexes the libraries, finds candidate answers to
# questions about them, and trains on these. About an hour on two cores, most of it rendering and indexing.
#
#   recipes/evaluator/answers.sh WORK [STITCH]
set -euo pipefail
work=$1
stitch=${2:-target/release/stitch}
natural=crates/lab/data/natural/development.jsonl
mkdir -p "$work"

library() { # NAME TASKS SEED VIDEOS SIZE
  "$stitch" world render --tasks "$2" --seed "$3" --videos "$4" --size "$5" --out "$work/$1" -q
  "$stitch" index "$work/$1" --library "$work/$1-index" -q
}
answers() { # LIBRARY NAME OPTIONS...
  local of=$1 name=$2
  shift 2
  "$stitch" dataset answers "$work/$of" --library "$work/$of-index" -o "$work/$name.safetensors" -q "$@"
}

library training-1 training 101 75 448x252
library training-2 training 102 75 448x252
library development development 201 36 448x252
library demonstration-1 demonstration 1 24 640x360
library demonstration-3 demonstration 3 24 640x360

# Every second procedure of the development half, so that one half can be trained on and the other measured.
awk 'NR % 2 == 1' "$natural" >"$work/odd.jsonl"
awk 'NR % 2 == 0' "$natural" >"$work/even.jsonl"

files=()
for of in 1 2; do
  for part in 1 2 3 4 5; do
    answers "training-$of" "training-$of$part" --questions 36 --seed "$of$part"
    files+=(--answers "$work/training-$of$part.safetensors")
  done
done
for half in odd even; do
  for of in 1 3; do
    answers "demonstration-$of" "$half-$of" --natural "$work/$half.jsonl"
    files+=(--answers "$work/$half-$of.safetensors")
  done
done
answers development development --questions 15 --seed 21

"$stitch" train "${files[@]}" --choose "$work/development.safetensors" --out "$work/evaluator" --epochs 8 --licence MIT
