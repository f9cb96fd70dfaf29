#!/usr/bin/env bash
# Shards in a bucket of moto, a server that speaks S3 with conditional writes: workers are killed and race, videos are read
# from the bucket, and the merged library is that of a single process; what is wrong is told, and no credential is
# printed. moto is installed in a virtual environment in the build folder.
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
rm -rf "$home" "$out"/{videos,said}
mkdir -p "$home/models" "$out"/{videos,said}
cp -r crates/engine/tests/data/tiny-mpnet "$home/models/"
export STITCH_HOME="$home" STITCH_SENTENCE_MODEL=tiny-mpnet STITCH_ENCODER=narration STITCH_SPEECH=never
stitch="${STITCH:-$target/release/stitch}"
"$stitch" world render --out "$out/videos" --videos 12 --size 160x90 --quiet >/dev/null

servers=()
trap 'kill "${servers[@]}" 2>/dev/null || true' EXIT
port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
start() { # PORT COMMAND: a server in the background
  local port="$1"; shift
  "$@" >"$out/server-$port.log" 2>&1 &
  servers+=($!)
  for _ in $(seq 100); do curl -s -o /dev/null "http://127.0.0.1:$port/" && return; sleep 0.1; done
  fail "the server does not start; see $out/server-$port.log"
}
moto() { # PORT, and the number of requests before credentials are checked, if they are
  INITIAL_NO_AUTH_ACTION_COUNT="${2:-inf}" start "$1" "$out/venv/bin/moto_server" -H 127.0.0.1 -p "$1"
}
use() { export AWS_ENDPOINT_URL="http://127.0.0.1:$1"; }
export AWS_ACCESS_KEY_ID=an-access-key AWS_SECRET_ACCESS_KEY=a-secret-value AWS_SESSION_TOKEN=a-session-token
export AWS_REGION=us-east-1 AWS_ALLOW_HTTP=true
first=$(port) && moto "$first" && use "$first"
request() { curl -sf --aws-sigv4 aws:amz:us-east-1:s3 --user "$AWS_ACCESS_KEY_ID:$AWS_SECRET_ACCESS_KEY" "$@"; }
put() { request -H 'Expect:' -T "$2" "$AWS_ENDPOINT_URL/$1" >/dev/null; }
get() { request "$AWS_ENDPOINT_URL/$1"; }
bucket=s3://shards-test
curl -sf -X PUT "$AWS_ENDPOINT_URL/shards-test" >/dev/null

commands=0
run() { # stitch with its log in a file, which is searched for credentials in the end
  commands=$((commands + 1))
  STITCH_LOG=trace "$stitch" "$@" 2>>"$out/said/$BASHPID-$commands.txt"
}
index() { run index "$out/videos" --shard "$1" --out "$2" --quiet --verbose >/dev/null; }
whole() { # URL COUNT
  run library verify "$1" --quiet | tee "$out/verified.txt"
  grep -q "^$2 shards whole, 0 unfinished, 0 damaged" "$out/verified.txt" || fail "shards are missing or damaged"
}

echo "== a worker is killed twenty times, then four workers race"
for kill in $(seq 20); do
  "$stitch" index "$out/videos" --out $bucket/killed --quiet >/dev/null 2>&1 & worker=$!
  sleep "$(printf '0.%02d' $((kill * 4)))"
  kill -9 "$worker" 2>/dev/null || true
  wait "$worker" 2>/dev/null || true
done
workers=()
for share in 1/2 2/2 1/2 2/2; do index "$share" $bucket/killed & workers+=($!); done
for worker in "${workers[@]}"; do wait "$worker" || fail "a worker failed"; done
whole $bucket/killed 12

echo "== ten times two workers race for the same videos"
for race in $(seq 10); do
  workers=()
  for _ in 1 2; do index 1/4 $bucket/race-"$race" & workers+=($!); done
  for worker in "${workers[@]}"; do wait "$worker" || fail "a worker failed"; done
  whole $bucket/race-"$race" 3
done

content() { # LIBRARY: what is in it, without where its videos are
  "$stitch" library list --library "$home/$1" --json --quiet | sed "s#$out/videos/\|s3://[^\"]*/videos/##g"
  "$stitch" search "chop the onion" --library "$home/$1" --json --quiet | sed "s#$out/videos/\|s3://[^\"]*/videos/##g"
  (cd "$home/$1/features" && sha256sum -- *)
}
echo "== the merged library is the one of a single process"
run library merge $bucket/killed --library "$home/merged" --quiet
"$stitch" index "$out/videos" --library "$home/alone" --quiet >/dev/null
content alone >"$out/alone.txt"
content merged | cmp - "$out/alone.txt" || fail "the merged library is another one"

echo "== videos in the bucket are copied one at a time, and no copy stays"
(cd "$out/videos" && find . -type f | cut -c 3-) | while read -r file; do put "shards-test/videos/$file" "$out/videos/$file"; done
mkdir -p "$home/cache/fetched"
run index $bucket/videos --out $bucket/copied --fetch-budget 0 --quiet >/dev/null & worker=$!
most=0
while kill -0 "$worker" 2>/dev/null; do
  now=$(find "$home/cache/fetched" -mindepth 2 -maxdepth 2 -type d 2>/dev/null | wc -l)
  most=$((now > most ? now : most))
  sleep 0.01
done
wait "$worker" || fail "a worker failed"
[ "$most" = 1 ] || fail "$most copies at a time"
left=$(find "$home/cache/fetched" -type f ! -name '*.lock')
[ -z "$left" ] || fail "copies are left: $left"
whole $bucket/copied 12
run library merge $bucket/copied --library "$home/copied" --quiet
content copied | cmp - "$out/alone.txt" || fail "the library of the bucket's videos is another one"

told() { # SAYS CODE COMMAND: fails with this code and says it
  local says="$1" wanted="$2" said code=0; shift 2
  said=$(STITCH_LOG=trace "$stitch" "$@" 2>&1) || code=$?
  echo "$said" >>"$out/said/told.txt"
  [ "$code" = "$wanted" ] || fail "exit code $code: $said"
  grep -q "$says" <<<"$said" || fail "not told \"$says\": $said"
}
echo "== what is wrong is told"
told "no-such-bucket.*no such bucket" 1 index "$out/videos" --out s3://no-such-bucket --quiet
told "no-such-bucket.*no such bucket" 1 library merge s3://no-such-bucket --library "$home/other" --quiet
told "no-such-bucket.*no such bucket" 1 index s3://no-such-bucket/x --out "$out/other" --quiet
told "shards-test/nothing.*no video" 1 index $bucket/nothing --out "$out/other" --quiet
told "memory://x.*neither a folder nor s3://" 1 index "$out/videos" --out memory://x --quiet
video=$(find "$out/videos" -name '*.mp4' | sort | head -1)
head -c $(($(stat -c %s "$video") / 2)) "$video" >"$out/half.mp4"
put shards-test/half/half.mp4 "$out/half.mp4"
told "shards-test/half/half.mp4: " 1 index $bucket/half --out $bucket/half-shards --quiet
run library verify $bucket/half-shards --quiet | grep -q '^0 shards whole, 0 unfinished, 0 damaged' || fail "half a video has a shard"
shard=$(basename "$(find "$home/merged/features" -name '*.safetensors' | head -1)") # any file will do
put "shards-test/race-1/shards/unfinished/$shard" "$home/merged/features/$shard"
run library verify $bucket/race-1 --quiet | grep -q '^3 shards whole, 1 unfinished, 0 damaged' || fail "an unfinished shard counts"

key=$(curl -sf "$AWS_ENDPOINT_URL/shards-test?list-type=2&prefix=race-2/shards/" | grep -o 'shards/[0-9a-f]*/manifest.json' | head -1)
get "shards-test/race-2/$key" | sed 's/"version":1/"version":9/' >"$out/manifest.json"
put "shards-test/race-2/$key" "$out/manifest.json"
told "shard $bucket/race-2/${key%/*} has format 9" 1 library merge $bucket/race-2 --library "$home/other" --quiet
told "shard $bucket/race-2/${key%/*} has format 9" 1 library verify $bucket/race-2 --quiet
cp -r "$home/models/tiny-mpnet" "$home/models/other-mpnet"
printf 'x' | dd of="$home/models/other-mpnet/model.safetensors" bs=1 seek=$(($(stat -c %s "$home/models/tiny-mpnet/model.safetensors") - 2)) conv=notrunc status=none
STITCH_SENTENCE_MODEL=other-mpnet index 1/12 $bucket/race-3
told "shard $bucket/race-3/shards/[0-9a-f]* was made with the encoder narration" 1 \
  library merge $bucket/race-3 --library "$home/other" --quiet
[ ! -e "$home/other" ] || fail "something was merged"

second=$(port) && moto "$second" 1 && use "$second"
curl -sf -X PUT "$AWS_ENDPOINT_URL/shards-test" >/dev/null || true
told "$bucket.*access is denied" 1 library verify $bucket --quiet
# A server whose clock is another, and one that repeats what it was asked.
refuses='
import http.server, sys

class Refuses(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        skewed = "skewed" in self.path
        self.send_response(403 if skewed else 400)
        self.end_headers()
        said = "<Code>RequestTimeTooSkewed</Code>" if skewed else f"{self.headers} a-secret-value"
        self.wfile.write(said.encode())

http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Refuses).serve_forever()'
third=$(port) && start "$third" python3 -c "$refuses" "$third" && use "$third"
told "the clock of this machine differs" 1 library verify s3://skewed --quiet
told "s3://echo.*x-amz-security-token: \$AWS_SESSION_TOKEN" 1 library verify s3://echo --quiet

echo "== no credential is printed or stored"
grep -rl -e a-secret-value -e a-session-token "$out/said" && fail "a credential is printed"
use "$first"
for name in $(curl -sf "$AWS_ENDPOINT_URL/shards-test?list-type=2&prefix=killed/" | grep -o 'killed/[^<]*manifest.json'); do
  get "shards-test/$name"
done | grep -c -e an-access-key -e a-secret-value -e a-session-token && fail "a credential is stored"
echo "cloud: passed"
