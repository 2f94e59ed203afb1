#!/usr/bin/env bash
# Installs what the end-to-end tests drive into WINNOW_E2E_CACHE (default: .cache beside this file), once. No script of a package is run.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
cache=${WINNOW_E2E_CACHE:-$here/.cache}
want=$(sha256sum "$here/package-lock.json" | cut -d' ' -f1)
if [ "$(cat "$cache/installed" 2>/dev/null)" = "$want" ]; then exit 0; fi
mkdir -p "$cache"
rm -f "$cache/installed"
cp "$here/package.json" "$here/package-lock.json" "$here/.npmrc" "$cache/"
quiet() { "$@" >"$cache/install.log" 2>&1 || { tail -20 "$cache/install.log" >&2; exit 1; }; }
cd "$cache"
quiet npm ci --ignore-scripts --no-audit --no-fund
# code-server's package leaves the modules of VS Code and of its extensions to an install script.
cd node_modules/code-server/lib/vscode
quiet npm install --omit=dev --ignore-scripts --no-audit --no-fund
cd extensions
quiet npm install --omit=dev --ignore-scripts --no-audit --no-fund
printf '%s' "$want" > "$cache/installed"
