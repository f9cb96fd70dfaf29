#!/usr/bin/env bash
# The page in a real browser. Skipped, with a line that says so, where there is none.
# STITCH_BROWSER_LIBRARY=DIR goes through a library of one's own instead of a small made-up one.
set -euo pipefail
cd "$(dirname "$0")/.."

target="${CARGO_TARGET_DIR:-target}"
out="$target/browser"

if ! command -v chromedriver >/dev/null || ! { command -v chromium || command -v chromium-browser || command -v google-chrome; } >/dev/null; then
  echo "browser: skipped, there is no Chromium with its driver (apt-get install chromium chromium-driver)"
  exit 0
fi

# axe checks accessibility; it is fetched once, into the build folder.
axe="$out/axe/package/axe.min.js"
if [ ! -f "$axe" ]; then
  mkdir -p "$out/axe"
  if (cd "$out/axe" && npm pack --silent axe-core@4 >/dev/null 2>&1 && tar xzf axe-core-*.tgz package/axe.min.js); then
    echo "browser: axe fetched"
  else
    echo "browser: axe cannot be fetched with npm; accessibility is not checked"
    axe=""
  fi
fi

exec python3 tests/browser/check.py "$target/release/stitch" "$out" ${axe:+--axe "$axe"} \
  ${STITCH_BROWSER_LIBRARY:+--library "$STITCH_BROWSER_LIBRARY"}
