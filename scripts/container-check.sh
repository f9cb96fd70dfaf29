#!/usr/bin/env bash
# Runs the image of `make container` as it is meant to be run: without privileges, on a read-only root file system,
# with volumes for the library and the cache. Arguments go to `podman run` or `docker run`.
set -euo pipefail
cd "$(dirname "$0")/.."

version=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -n 1)
image=${IMAGE:-stitch:$version}
for runner in ${RUNNER:-podman docker}; do
  command -v "$runner" >/dev/null && "$runner" image inspect "$image" >/dev/null 2>&1 && break
  runner=
done
[ -n "$runner" ] || { echo "container-check: neither podman nor docker has $image; run: make container" >&2; exit 1; }

name=stitch-check-$$
log=$(mktemp)
fail() { echo "container-check: $1" >&2; cat "$log" >&2; exit 1; }
clean() {
  "$runner" rm -f "$name" >/dev/null 2>&1 || true
  "$runner" volume rm -f "$name-library" "$name-cache" >/dev/null 2>&1 || true
  rm -f "$log"
}
trap clean EXIT

run() {
  local more=()
  while [ "$1" != -- ]; do more+=("$1"); shift; done
  shift
  "$runner" run --read-only --tmpfs /tmp --cap-drop all --security-opt no-new-privileges \
    -v "$name-library:/var/lib/stitch" -v "$name-cache:/opt/stitch/cache" "${arguments[@]}" "${more[@]}" "$image" "$@"
}
arguments=("$@")
inside() { "$runner" exec "$name" "$@" >"$log" 2>&1; }

user=$(run --rm --entrypoint id -- -u)
[ "$user" != 0 ] || fail "the program runs as root"
echo "user: $user"

run --rm --entrypoint /usr/local/libexec/stitch-health -- >"$log" 2>&1 &&
  fail "the health check passes without a server"
echo "health without a server: fails"

run --rm -- self-check 2>"$log" || fail "stitch self-check failed"

# The default command.
serve() {
  run -d --name "$name" -e STITCH_TOKEN=0123456789abcdef -- >/dev/null 2>"$log" || fail "cannot start the server"
  for _ in $(seq 60); do
    inside /usr/local/libexec/stitch-health && return
    sleep 1
  done
  "$runner" logs "$name" >"$log" 2>&1 || true
  fail "the server is not healthy after a minute"
}
serve
case $runner in
  podman) podman healthcheck run "$name" >"$log" 2>&1 || fail "the health check of the image fails" ;;
  docker) docker inspect --format '{{.State.Health.Status}}' "$name" >"$log" || fail "the image has no health check" ;;
esac
echo "health of the server: passes"
for path in /x /usr/local/bin/stitch /opt/stitch/models/x; do
  inside touch "$path" && fail "$path can be written"
done
inside test -f /var/lib/stitch/library/library.db || fail "the library is not in its volume"
inside touch /opt/stitch/cache/x || fail "the cache cannot be written"
inside stitch doctor || fail "stitch doctor failed"
"$runner" stop -t 30 "$name" >"$log" 2>&1 || fail "the server does not stop"
status=$("$runner" inspect --format '{{.State.ExitCode}}' "$name")
[ "$status" = 0 ] || fail "the server ended with code $status"
"$runner" rm "$name" >/dev/null
serve
inside test -f /opt/stitch/cache/x || fail "the cache is lost with the container"
echo "read-only root, volumes, stop and restart: pass"
