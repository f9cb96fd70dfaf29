#!/usr/bin/env bash
# Packs the built program with completions, manual pages, the systemd unit, its SBOM and checksums into a
# tarball below the target folder; beside it the source tarball of the commit and the Homebrew formula that
# builds it. The same sources give the same bytes.
set -euo pipefail
cd "$(dirname "$0")/.."

target=${CARGO_TARGET_DIR:-target}
stitch=${STITCH:-$target/release/stitch}
[ -x "$stitch" ] || { echo "dist: there is no $stitch; run: make dist" >&2; exit 1; }
version=$("$stitch" --version | cut -d' ' -f2)
name=stitch-$version-$(uname -s | tr '[:upper:]' '[:lower:]')-$(uname -m)
out=${1:-$target/dist}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
folder=$work/$name

put() { install -D -m "$1" "$2" "$folder/$3"; }
put 755 "$stitch" bin/stitch
put 644 scripts/stitch.service lib/systemd/system/stitch.service
for file in README.md CHANGELOG.md SECURITY.md LICENSE-MIT LICENSE-APACHE; do
  put 644 "$file" "share/doc/stitch/$file"
done
"$stitch" man --out "$folder/share/man/man1"
completions() { mkdir -p "$folder/share/$2" && "$stitch" completions "$1" > "$folder/share/$2/$3"; }
completions bash bash-completion/completions stitch
completions zsh zsh/site-functions _stitch
completions fish fish/vendor_completions.d stitch.fish
${XTASK:-cargo xtask} sbom > "$folder/share/doc/stitch/sbom.cdx.json"
(cd "$folder" && find * -type f | LC_ALL=C sort | xargs -d '\n' sha256sum) > "$work/SHA256SUMS"
put 644 "$work/SHA256SUMS" share/doc/stitch/SHA256SUMS

mkdir -p "$out"
date=$(git log -1 --format=%ct 2>/dev/null || echo 0)
tar --sort=name --owner=0 --group=0 --numeric-owner --mode=go-w --mtime="@$date" -C "$work" -cf - "$name" |
  gzip -n -9 > "$work/$name.tar.gz"
mv "$work/$name.tar.gz" "$out/$name.tar.gz"
(cd "$out" && sha256sum "$name.tar.gz" > "$name.tar.gz.sha256")
echo "$out/$name.tar.gz: $(($(stat -c %s "$out/$name.tar.gz") / 1000000)) MB"

# The commit, not the working tree. Without a `repository` in Cargo.toml, the formula has the path of the tarball.
git rev-parse --quiet --verify HEAD >/dev/null || { echo "dist: no commit, so no source tarball" >&2; exit 0; }
source=stitch-$version.tar.gz
git archive --format=tar --prefix="stitch-$version/" HEAD | gzip -n > "$work/$source"
mv "$work/$source" "$out/$source"
(cd "$out" && sha256sum "$source" > "$source.sha256")
repository=$(sed -n 's/^repository = "\(.*\)"$/\1/p' Cargo.toml | head -n 1)
releases=${repository:+$repository/releases/download/v$version}
place=file://$(cd "$out" && pwd)
sed -e "s|@HOMEPAGE@|${repository:-$place}|" -e "s|@URL@|${releases:-$place}/$source|" \
  -e "s|@SHA256@|$(cut -d' ' -f1 "$out/$source.sha256")|" packaging/homebrew/stitch.rb > "$work/stitch.rb"
mv "$work/stitch.rb" "$out/stitch.rb"
echo "$out/$source, $out/stitch.rb"
