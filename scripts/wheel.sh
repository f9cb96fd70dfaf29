#!/usr/bin/env bash
# Builds the Python package into wheels/ below the target folder. With --test it is also installed into an environment
# of its own, type-checked, and tested against a small made-up library by the built program.
set -euo pipefail
cd "$(dirname "$0")/.."
mkdir -p "${CARGO_TARGET_DIR:-target}"
target=$(cd "${CARGO_TARGET_DIR:-target}" && pwd)
venv=$target/python-venv
requirements=python/tests/requirements.txt

python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "wheel: Python 3.11 or later is needed" >&2; exit 1; }
if ! cmp -s $requirements "$venv/installed.txt"; then
  python3 -m venv "$venv"
  if ! "$venv/bin/python" -m pip install --quiet --disable-pip-version-check -r $requirements; then
    echo "wheel: skipped: maturin could not be installed" >&2
    exit 0
  fi
  cp $requirements "$venv/installed.txt"
fi

cp Cargo.lock python/Cargo.lock # the versions that are shipped
rm -rf "$target/wheels"
CARGO_TARGET_DIR=$target/python "$venv/bin/maturin" build --quiet --release --manifest-path python/Cargo.toml \
  --interpreter "$venv/bin/python" --out "$target/wheels"
echo "$target"/wheels/*.whl
[ "${1:-}" = --test ] || exit 0

"$venv/bin/python" -m pip install --quiet --disable-pip-version-check --force-reinstall --no-deps "$target"/wheels/*.whl
"$venv/bin/mypy" --strict --no-error-summary --cache-dir=/dev/null python/stitch
STITCH=$target/release/stitch "$venv/bin/python" -m pytest --quiet -p no:cacheprovider python/tests
