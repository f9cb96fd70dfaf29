#!/usr/bin/env bash
# Checks that everything stitch needs is installed, and installs what is missing if that is allowed.
# Needs no root if nothing is missing; changes nothing with --check. With --browser, also checks what the
# browser tests need.
set -euo pipefail

RUST_NEEDED="1.92"
check_only=no
browser=no
for option in "$@"; do
  case "$option" in
    --check) check_only=yes ;;
    --browser) browser=yes ;;
    *) printf 'setup: unknown option %s; use --check or --browser\n' "$option" >&2; exit 2 ;;
  esac
done

say() { printf 'setup: %s\n' "$*"; }
stop() { printf 'setup: %s\n' "$*" >&2; exit 1; }
has() { command -v "$1" >/dev/null 2>&1; }

# The programs, each with its Debian package.
missing=()
need() { has "$1" || missing+=("$2"); }

check_rust() {
  has cargo || stop "cargo is not installed; install Rust from https://rustup.rs, then run this again"
  local version
  version=$(rustc --version | cut -d' ' -f2)
  [ "$(printf '%s\n' "$RUST_NEEDED" "$version" | sort -V | head -n1)" = "$RUST_NEEDED" ] ||
    stop "rustc $version is too old, $RUST_NEEDED or later is needed; run: rustup update stable"
}

# Python is needed only by some benchmarks and by the model pull's package-registry source.
check_python() {
  has python3 || stop "python3 is not installed; run: sudo apt-get install python3 python3-pip"
  python3 -m pip --version >/dev/null 2>&1 ||
    say "python3 has no pip (only the benchmarks need it): sudo apt-get install python3-pip python3-venv"
}

check_programs() {
  need ffmpeg ffmpeg
  need ffprobe ffmpeg
  need espeak-ng espeak-ng
  # SQLite and the TLS library are compiled from C.
  has cc || has gcc || has clang || missing+=(build-essential)
  if [ "$browser" = yes ]; then
    need chromium chromium
    need chromedriver chromium-driver
  fi
  mapfile -t missing < <(printf '%s\n' "${missing[@]:-}" | sort -u | sed '/^$/d')
}

# Runs a command as root, by sudo without a password if needed.
as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n "$@"; fi
}

install_missing() {
  local command="sudo apt-get update && sudo apt-get install -y --no-install-recommends ${missing[*]}"
  if [ "$check_only" = yes ] || ! has apt-get; then
    stop "missing: ${missing[*]}; on Debian and Ubuntu run: $command"
  fi
  if [ "$(id -u)" != 0 ] && ! { has sudo && sudo -n true 2>/dev/null; }; then
    stop "missing: ${missing[*]}; run this, then the same command again: $command"
  fi
  say "installing ${missing[*]}"
  as_root env DEBIAN_FRONTEND=noninteractive apt-get update -q
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "${missing[@]}"
}

check_rust
check_python
check_programs
if [ "${#missing[@]}" -gt 0 ]; then install_missing; fi
say "all installed: $(ffmpeg -version | head -n1 | cut -d' ' -f1-3), $(rustc --version | cut -d' ' -f1,2)"
