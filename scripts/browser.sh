#!/usr/bin/env bash
# The page in a real browser, which is installed where that is allowed. Skipped, with a line that says so,
# where there is none. STITCH_BROWSER_LIBRARY=DIR goes through a library of one's own instead of a small
# made-up one.
set -euo pipefail
cd "$(dirname "$0")/.."

target="${CARGO_TARGET_DIR:-target}"
out="$target/browser"

if ! scripts/setup.sh --browser; then
  echo "browser: skipped, there is no Chromium with its driver"
  exit 0
fi

# axe checks accessibility; it is fetched once, into the build folder, out of a Python package that brings it.
axe="$out/axe/axe_playwright_python/axe.min.js"
if [ ! -f "$axe" ]; then
  python3 -m pip download --quiet --no-deps --dest "$out/axe" 'axe-playwright-python==0.1.*'
  python3 -m zipfile -e "$out"/axe/axe_playwright_python-*.whl "$out/axe"
fi

exec python3 tests/browser/check.py "$target/release/stitch" "$out" --axe "$axe" \
  ${STITCH_BROWSER_LIBRARY:+--library "$STITCH_BROWSER_LIBRARY"}
