#!/usr/bin/env bash
# Builds the Python package into wheels/ below the target folder. With --test it is also installed into an environment
# of its own, type-checked, and tested against a small made-up library by the built program; with --ray its part for
# Ray is tested on a cluster of four nodes on this machine.
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
[ -n "${1:-}" ] || exit 0

install() { "$venv/bin/python" -m pip install --quiet --disable-pip-version-check "$@"; }
check() { STITCH=$target/release/stitch "$venv/bin/python" -m pytest --quiet -p no:cacheprovider "$@"; }
install --force-reinstall --no-deps "$target"/wheels/*.whl
case $1 in
  --test)
    install 'pylance>=14,<15'
    "$venv/bin/mypy" --config-file python/pyproject.toml --cache-dir=/dev/null -p stitch
    check python/tests --ignore python/tests/test_ray.py ;;
  --ray)
    install 'ray==2.60.0' 'moto[server]>=5,<6'
    check python/tests/test_ray.py ;;
esac
