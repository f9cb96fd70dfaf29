#!/usr/bin/env bash
# Shards in a bucket of moto, a server that speaks S3 with conditional writes: workers race and are killed, and the merged
# library is that of a single process; a missing bucket and wrong credentials are told. Installed in a virtual
# environment in the build folder.
set -euo pipefail
cd "$(dirname "$0")/.."

target="${CARGO_TARGET_DIR:-target}"
mkdir -p "$target/cloud"
out="$(cd "$target/cloud" && pwd)"
if [ ! -x "$out/venv/bin/moto_server" ]; then
  python3 -m venv "$out/venv"
  "$out/venv/bin/pip" install --quiet 'moto[server]>=5,<6'
fi
fail() { echo "cloud: $*"; exit 1; }

# A made-up collection and the small sentence model of the tests.
home="$out/home"
rm -rf "$home" "$out"/videos
mkdir -p "$home/models" "$out/videos"
cp -r crates/engine/tests/data/tiny-mpnet "$home/models/"
export STITCH_HOME="$home" STITCH_SENTENCE_MODEL=tiny-mpnet STITCH_ENCODER=narration STITCH_SPEECH=never
stitch="${STITCH:-$target/release/stitch}"
"$stitch" world render --out "$out/videos" --videos 12 --size 160x90 --quiet >/dev/null

servers=()
trap 'kill "${servers[@]}" 2>/dev/null || true' EXIT
start() { # PORT, and the number of requests before credentials are checked, if they are
  INITIAL_NO_AUTH_ACTION_COUNT="${2:-inf}" "$out/venv/bin/moto_server" -H 127.0.0.1 -p "$1" >"$out/moto-$1.log" 2>&1 &
  servers+=($!)
  for _ in $(seq 100); do curl -s -o /dev/null "http://127.0.0.1:$1/moto-api/" && return; sleep 0.1; done
  fail "moto does not start; see $out/moto-$1.log"
}
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
start "$port"
export AWS_ACCESS_KEY_ID=testing AWS_SECRET_ACCESS_KEY=a-secret-value AWS_REGION=us-east-1 AWS_ALLOW_HTTP=true
export AWS_ENDPOINT_URL="http://127.0.0.1:$port"
curl -sf -X PUT "$AWS_ENDPOINT_URL/shards-test" >/dev/null

index() { "$stitch" index "$out/videos" --shard "$1" --out s3://shards-test/prefix --quiet; }
index 1/2 >/dev/null & killed=$!
sleep 0.5 && kill -9 "$killed" 2>/dev/null || true
workers=()
for share in 1/2 2/2 1/2 2/2; do index "$share" >/dev/null & workers+=($!); done
for worker in "${workers[@]}"; do wait "$worker" || fail "a worker failed"; done

"$stitch" library verify s3://shards-test/prefix --quiet | tee "$out/verified.txt"
grep -q '^12 shards whole, 0 unfinished, 0 damaged' "$out/verified.txt" || fail "shards are missing or damaged"
"$stitch" library merge s3://shards-test/prefix --library "$home/merged" --quiet
"$stitch" index "$out/videos" --library "$home/alone" --quiet >/dev/null
for library in merged alone; do
  "$stitch" library list --library "$home/$library" --json >"$out/$library.txt"
  "$stitch" search "chop the onion" --library "$home/$library" --json >>"$out/$library.txt"
  (cd "$home/$library/features" && sha256sum -- *) >>"$out/$library.txt"
done
cmp "$out/merged.txt" "$out/alone.txt" || fail "the merged library is another one"

told() { # SAYS, COMMAND: fails with code 1, says it, and names no secret
  local says="$1" said code=0; shift
  said=$("$@" 2>&1) || code=$?
  [ "$code" = 1 ] || fail "exit code $code: $said"
  grep -q "$says" <<<"$said" || fail "not told \"$says\": $said"
  if grep -q "$AWS_SECRET_ACCESS_KEY" <<<"$said"; then fail "a secret is printed"; fi
}
told "no such bucket" "$stitch" index "$out/videos" --out s3://no-such-bucket --quiet
told "no such bucket" "$stitch" library merge s3://no-such-bucket --library "$home/other" --quiet
start $((port + 1)) 1
export AWS_ENDPOINT_URL="http://127.0.0.1:$((port + 1))"
curl -sf -X PUT "$AWS_ENDPOINT_URL/shards-test" >/dev/null
told "access is denied" "$stitch" library verify s3://shards-test --quiet
echo "cloud: passed"
