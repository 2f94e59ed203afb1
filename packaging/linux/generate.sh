#!/bin/sh
# Writes what packages bring besides the program: manual pages and completions, made by the program itself. generate.sh PROGRAM FOLDER
set -eu
program=$1 to=$2
# Nothing of the person who builds: the program reads no configuration of theirs.
home=$(mktemp -d)
trap 'rm -rf "$home"' EXIT
run() { env -i PATH="$PATH" HOME="$home" "$program" "$@"; }
rm -rf "$to/man" "$to/completions"
mkdir -p "$to/man" "$to/completions"
run man "$to/man" >/dev/null
gzip -9n "$to/man/"*.[15]
run completion bash >"$to/completions/winnow.bash"
run completion zsh >"$to/completions/_winnow"
run completion fish >"$to/completions/winnow.fish"
