#!/usr/bin/env bash
# Runs every target of fuzz/targets.rs under libFuzzer, each for the given number of seconds, or only those named, as
# many at once as there are cores:
#   scripts/fuzz.sh SECONDS [TARGET...]
# Stable Rust is enough: coverage comes from LLVM's own pass (SanitizerCoverage), which rustc runs when told to; only
# the sanitizers themselves need nightly. Prints executions, covered edges and seconds of CPU for each target. An input that ends
# the program is left in the folder of its target, and the exit code is 1.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-4}
shift || true
folder=${CARGO_TARGET_DIR:-target}/fuzz
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
host=$(rustc -vV | sed -n 's/^host: //p')

flags="--cfg fuzzing -Cpasses=sancov-module"
for argument in level=4 inline-8bit-counters pc-table trace-compares; do
  flags+=" -Cllvm-args=-sanitizer-coverage-$argument"
done
cp Cargo.lock fuzz/Cargo.lock # the versions that are shipped
# With --target the flags are for the program, not for build scripts.
RUSTFLAGS=$flags CARGO_TARGET_DIR=$folder/target ${CARGO:-cargo} build --quiet --release --manifest-path fuzz/Cargo.toml --target "$host"
program=$folder/target/$host/release/fuzz

# Runs one target and prints its line; fails if an input ended the program.
fuzz() {
  local name=$1 result=
  mkdir -p "$folder/$name/corpus"
  cd "$folder/$name"
  TIMEFORMAT='%U %S'
  { time FUZZ_TARGET=$name FUZZ_CORPUS=corpus nice -n 10 "$program" corpus -max_total_time="$seconds" -timeout=20 \
    -rss_limit_mb=1024 -max_len=65536 -print_final_stats=1 >log 2>&1; } 2>cpu || result="FAILED, see $PWD/log"
  local executions edges cpu
  cpu=$(awk '{ printf "%d", $1 + $2 }' cpu)
  executions=$(sed -n 's/^stat::number_of_executed_units: *//p' log)
  edges=$(grep -o 'cov: [0-9]*' log | tail -1 | cut -d' ' -f2 || true)
  printf '%-18s %12s %8s %8s %6s %s\n' "$name" "${executions:--}" "${edges:--}" "$(ls corpus | wc -l)" "$cpu" "$result"
  [ -z "$result" ]
}
export -f fuzz
export folder program seconds

printf '%-18s %12s %8s %8s %6s\n' target executions edges corpus CPU
if [ $# -gt 0 ]; then printf '%s\n' "$@"; else "$program" 2>/dev/null; fi |
  xargs -P "$(nproc)" -I NAME bash -euo pipefail -c 'fuzz NAME'
