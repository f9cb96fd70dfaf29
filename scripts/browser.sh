#!/usr/bin/env bash
# Browser tests of the web interface. Installs Chromium if that is allowed; skipped, with a message, if there
# is none. STITCH_BROWSER_LIBRARY=DIR uses this library instead of a small made-up one.
set -euo pipefail
cd "$(dirname "$0")/.."

target="${CARGO_TARGET_DIR:-target}"
out="$target/browser"

if ! scripts/setup.sh --browser; then
  echo "browser: skipped, there is no Chromium with its driver"
  exit 0
fi

# axe checks accessibility; it is downloaded once, into the build folder, from a Python package that contains it.
axe="$out/axe/axe_playwright_python/axe.min.js"
if [ ! -f "$axe" ]; then
  python3 -m pip download --quiet --no-deps --dest "$out/axe" 'axe-playwright-python==0.1.*'
  python3 -m zipfile -e "$out"/axe/axe_playwright_python-*.whl "$out/axe"
fi

exec python3 tests/browser/check.py "$target/release/stitch" "$out" --axe "$axe" \
  ${STITCH_BROWSER_LIBRARY:+--library "$STITCH_BROWSER_LIBRARY"}
