#!/usr/bin/env bash
# Builds the container image from the tarball of `make dist`, with the first of podman, docker and buildah that
# works here. Arguments go to the builder: `--isolation chroot` where it may not make namespaces,
# `--build-arg BASE=IMAGE` for another system than Debian's own image.
set -euo pipefail
cd "$(dirname "$0")/.."

dist=${DIST:-${CARGO_TARGET_DIR:-target}/dist}
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -n 1)
tarball=stitch-$version-linux-$(uname -m).tar.gz
image=${IMAGE:-stitch:$version}
[ -f "$dist/$tarball" ] || { echo "container: there is no $dist/$tarball; run: make dist" >&2; exit 1; }
(cd "$dist" && sha256sum --quiet -c "$tarball.sha256")

works() { command -v "$1" >/dev/null && "$1" info >/dev/null 2>&1; }
for builder in ${BUILDER:-podman docker buildah}; do
  works "$builder" && break
  builder=
done
[ -n "$builder" ] || { echo "container: none of podman, docker and buildah works here; install podman" >&2; exit 1; }

context=$(mktemp -d)
trap 'rm -rf "$context"' EXIT
cp "$dist/$tarball" packaging/health.sh "$context"
# Images in the format of OCI have no health check.
format=(--format docker)
[ "$builder" != docker ] || format=()
"$builder" build "${format[@]}" --file packaging/Containerfile --build-arg "TARBALL=$tarball" --tag "$image" \
  "$@" "$context"
echo "$image: built with $builder"
