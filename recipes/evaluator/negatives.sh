#!/usr/bin/env bash
# Each of the three kinds of negatives switched off once: trains four evaluators on procedures mixed out of a library of the
# training tasks, and ranks faultless answers about a library of the test tasks with each, with equal source changes
# (docs/src/evaluation.md). About half an hour on two cores, most of it rendering and indexing.
#
#   recipes/evaluator/negatives.sh WORK [STITCH]
set -euo pipefail
work=$1
stitch=${2:-target/release/stitch}
mkdir -p "$work"

library() { # TASKS SEED VIDEOS
  [ -d "$work/$1-index" ] && return
  "$stitch" world render --tasks "$1" --seed "$2" --videos "$3" --size 448x252 --out "$work/$1" -q
  "$stitch" index "$work/$1" --library "$work/$1-index" -q
}

library training 101 75
library test 302 48
"$stitch" dataset mix --library "$work/training-index" --similarity 0.7 --seed 1 -o "$work/mixed.jsonl" -q
for off in none correctness continuity state; do
  without=()
  [ "$off" = none ] || without=(--ablate "$off")
  "$stitch" train --library "$work/training-index" --data "$work/mixed.jsonl" --no-prior --epochs 8 --seed 1 \
    --out "$work/without-$off" "${without[@]}" -q
  for seed in 3 4; do
    echo "without $off, questions of seed $seed"
    "$stitch" eval world "$work/test" --library "$work/test-index" --questions 60 --seed "$seed" --ranks \
      --evaluator "$work/without-$off" -q
  done
done
