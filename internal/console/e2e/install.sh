#!/usr/bin/env bash
# Installs what the end-to-end tests drive into WINNOW_CONSOLE_E2E (default: .cache beside this file), once. No script of a package is run.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
cache=${WINNOW_CONSOLE_E2E:-$here/.cache}
want=$(sha256sum "$here/package-lock.json" | cut -d' ' -f1)
if [ "$(cat "$cache/installed" 2>/dev/null)" = "$want" ]; then exit 0; fi
mkdir -p "$cache"
rm -f "$cache/installed"
cp "$here/package.json" "$here/package-lock.json" "$here/.npmrc" "$cache/"
cd "$cache"
npm ci --ignore-scripts --no-audit --no-fund >install.log 2>&1 || { tail -20 install.log >&2; exit 1; }
printf '%s' "$want" >installed
