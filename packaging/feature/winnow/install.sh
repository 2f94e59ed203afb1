#!/bin/sh
# Installs a released winnow, once its SHA-256 is the one that the release lists:
#
#   install.sh [--version 1.2.3] [--to FOLDER]
#
# Without a version the latest release is installed; without a folder /usr/local/bin as root, else ~/.local/bin. INSTALL_FROM names a mirror of the releases.
# The dev container Feature beside this file and the action run it too. A Feature gets its options as variables, and no arguments.
set -eu

releases=${INSTALL_FROM:-https://github.com/winnow-reaper/winnow/releases}
version=latest
[ -z "${_REMOTE_USER:-}" ] || version=${VERSION:-latest}
to=$HOME/.local/bin
[ "$(id -u)" != 0 ] || to=/usr/local/bin

refused() {
  printf 'winnow was not installed: %s\n' "$1" >&2
  exit 1
}
while [ $# -gt 0 ]; do
  case $1 in
  --version) version=${2:?--version wants a version} ;;
  --to) to=${2:?--to wants a folder} ;;
  *) refused "$1 is no option; there are --version and --to" ;;
  esac
  shift 2
done

[ "$(uname -s)" = Linux ] || refused "it needs Linux, and this is $(uname -s)"
case $(uname -m) in
x86_64 | amd64) arch=amd64 ;;
aarch64 | arm64) arch=arm64 ;;
*) refused "there is no release for $(uname -m): build it from source with Go" ;;
esac
case $version in
latest) from=$releases/latest/download ;;
v[0-9]*) from=$releases/download/$version ;;
[0-9]*) from=$releases/download/v$version ;;
*) refused "$version is no version, such as 1.2.3" ;;
esac

if [ -n "${_REMOTE_USER:-}" ] && ! command -v curl >/dev/null && command -v apt-get >/dev/null; then
  apt-get update -qq
  apt-get install -y -qq --no-install-recommends curl ca-certificates >/dev/null
fi
fetch() {
  if command -v curl >/dev/null; then
    curl -fsSL --retry 3 -o "$2" "$1"
  else
    wget -qO "$2" "$1"
  fi || refused "$1 could not be fetched"
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fetch "$from/checksums.txt" "$work/checksums.txt"
# The list names the archive, and with it the version of the latest release.
line=$(grep -E "^[0-9a-f]{64}  winnow_[0-9A-Za-z.+~-]+_linux_$arch\.tar\.gz\$" "$work/checksums.txt") || refused "$from/checksums.txt lists no archive for linux_$arch"
[ "$(printf '%s\n' "$line" | wc -l)" = 1 ] || refused "$from/checksums.txt lists more than one archive for linux_$arch"
archive=${line#*  }
fetch "$from/$archive" "$work/$archive"
(cd "$work" && printf '%s\n' "$line" | sha256sum -c - >/dev/null 2>&1) || refused "$archive is not what checksums.txt says: it was changed, or was not fetched whole"
tar -xzf "$work/$archive" -C "$work" winnow
mkdir -p "$to"
install -m 0755 "$work/winnow" "$to/.winnow.new"
mv -f "$to/.winnow.new" "$to/winnow" # one that runs goes on with what it was started from
printf 'installed %s\n' "$to/winnow"
"$to/winnow" version
case :$PATH: in
*:"$to":*) ;;
*) printf '%s is not on PATH\n' "$to" ;;
esac
