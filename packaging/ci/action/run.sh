#!/usr/bin/env bash
# What action.yml and packaging/ci/gitlab run: winnow policy check, test, fmt and diff, and Regal where it is installed. All that it is told comes in variables
# (INPUT_..., as in action.yml; INPUT_OUT names the folder for the results, which is a new one otherwise).
# It reads the repository in the working folder and changes nothing there; it reaches no network, unless it has to download or build winnow.
#
# Whoever opens the pull request wrote the policies, the snapshots and their names. Nothing of that is run but by winnow, which evaluates policies in a
# process of their own, and no output is read as a command of the runner.
set -euo pipefail
umask 077
export LC_ALL=C.UTF-8 NO_COLOR=1 REGAL_DISABLE_VERSION_CHECK=1

# annotate LEVEL TEXT: a line that the runner shows at the top of the run. The text is our own words, with names from the workflow.
annotate() {
  local text=${2//'%'/%25}
  text=${text//$'\r'/%0D}
  printf '::%s::%s\n' "$1" "${text//$'\n'/%0A}"
}
# mistaken TEXT: the workflow is wrong, and nothing was checked. It is said on stderr, which the runner reads too: some of this is asked within $(...).
mistaken() {
  annotate error "$1; nothing was checked" >&2
  exit 2
}

# inside INPUT PATH: prints a path in the repository without ./ and / around it.
inside() {
  local path=${2#./}
  path=${path%/}
  case /$path/ in
  // | //* | /./ | /-* | */../* | *//* | *:*) mistaken "the input $1 is '$2': name a folder or a file by its path in the repository, such as $3" ;;
  esac
  printf '%s' "$path"
}
choice() {
  local name=$1 value=$2
  shift 2
  for word; do [ "$value" != "$word" ] || return 0; done
  mistaken "the input $name is '$value': it is one of $*"
}

policies=$(inside policies "${INPUT_POLICIES:-policies}" policies)
snapshots=$(inside snapshots "${INPUT_SNAPSHOTS:-snapshots}" snapshots)
config=
[ -z "${INPUT_CONFIG:-}" ] || config=$(inside config "$INPUT_CONFIG" config.yaml)
fail_on=${INPUT_FAIL_ON:-new-reap} threshold=${INPUT_THRESHOLD:-} conformance=${INPUT_CONFORMANCE:-true} regal=${INPUT_REGAL:-auto}
choice fail-on "$fail_on" new-reap any none
choice conformance "$conformance" true false
choice regal "$regal" auto true false
[[ $threshold =~ ^([0-9]{1,3}(\.[0-9]+)?)?$ ]] || mistaken "the input threshold is '$threshold': it is a number of percent, such as 80"
[ -d "$policies" ] || mistaken "there is no folder $policies in this checkout: is it the first step to check out the repository, and is the input policies right?"
[ -z "$config" ] || [ -f "$config" ] || mistaken "there is no file $config in this checkout: is the input config right?"

workspace=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/tree" "$work/sarif" "$work/junit" "$work/said" "$work/home"

# git reads no configuration but the checkout's own, which a pull request cannot write.
repo() { GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null git -c safe.directory="$workspace" --literal-pathspecs -C "$workspace" "$@"; }
commit() { repo rev-parse --quiet --verify --end-of-options "$1^{commit}"; }
has() { repo cat-file -e "$1:$2" 2>/dev/null; }

# The program. One that is part of the repository would be the pull request's own.
winnow=${INPUT_PROGRAM:-} action=${GITHUB_ACTION_PATH:-} download=${GITHUB_ACTION_PATH:-}/packaging/feature/winnow/install.sh
advice="put the program on PATH, or name it with the input winnow (docs/guides/policies-in-ci.md)"
if [ "$winnow" = build ]; then
  { [ -f "$action/go.mod" ] && command -v go >/dev/null; } || mistaken "winnow cannot be built: there is no Go, or this is no action; $advice"
  echo "winnow is built from this action, which may download its modules"
  winnow=$work/winnow
  (cd "$action" && go build -buildvcs=false -o "$winnow" ./cmd/winnow) || mistaken "winnow could not be built with $(go version); $advice"
elif [ -n "$winnow" ]; then
  winnow=$(command -v -- "$winnow") || mistaken "the input winnow is '$INPUT_PROGRAM': there is no such program"
  winnow=$(realpath -- "$winnow")
elif winnow=$(command -v winnow); then
  winnow=$(realpath -- "$winnow")
elif [ -n "$action" ] && [ -f "$download" ]; then
  # The release of the action's own tag; of a branch, a commit or a tag such as v1 the latest one.
  version=${INPUT_VERSION:-latest}
  [ -n "${INPUT_VERSION:-}" ] || [[ ! ${ACTION_REF:-} =~ ^v[0-9]+\.[0-9]+\.[0-9]+ ]] || version=$ACTION_REF
  sh "$download" --version "$version" --to "$work/bin" || mistaken "winnow $version could not be downloaded; $advice, or have it built: 'winnow: build'"
  winnow=$work/bin/winnow
else
  mistaken "winnow is not on PATH; $advice"
fi
case $winnow in
"$(realpath -- "$workspace")"/*)
  if repo ls-files --error-unmatch -- "${winnow#"$(realpath -- "$workspace")"/}" >/dev/null 2>&1; then
    mistaken "the program $winnow is part of the repository, so that a pull request could bring its own: install winnow outside of it"
  fi
  ;;
esac

# A copy that only this user can write, which winnow asks of what it judges by: a job in a container has a checkout that is another user's.
copy() {
  if [ -e "$1" ] || [ -L "$1" ]; then cp -RP --parents -- "$1" "$work/tree"; fi
}
copy "$policies"
copy "$snapshots"
[ -z "$config" ] || copy "$config"
chmod -R u+rwX,go-w "$work/tree"
# Regal's configuration, without the rules that a repository may have for Regal itself: Regal would run those as they are.
for file in .regal/config.yaml .regal.yaml; do
  [ ! -f "$file" ] || [ -L "$file" ] || { cp -- "$file" "$work/regal.yaml" && break; }
done
cd "$work/tree"
export XDG_CONFIG_HOME=$work/home XDG_STATE_HOME=$work/home
unset WINNOW_CONFIG
if [ -n "$config" ]; then # in force beside it are the defaults, and no file that lies about on the machine
  echo 'version: 1' >"$work/defaults.yaml"
  export WINNOW_CONFIG=$work/defaults.yaml
fi

names=() words=() failed=()
declare -A about=([check]="the policies would be taken" [fmt]="the files are formatted" [test]="the tests of the policies"
  [conformance]="incidents that Winnow ships" [regal]="Regal's rules of style" [diff]="what would go that stays today")
# judged NAME CODE [WORD]: how a check ended.
judged() {
  names+=("$1")
  if [ "$2" = 0 ]; then words+=("${3:-passed}"); else
    words+=("**${3:-failed}**")
    failed+=("$1")
  fi
}
# skipped NAME WHY: it was not run, and that is in order.
skipped() {
  names+=("$1")
  words+=("not run ($2)")
}
# show NAME: what a check printed, in the log of the run. None of it is a command of the runner.
show() {
  local token
  token=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
  printf '::group::%s\n::stop-commands::%s\n' "$1" "$token"
  cat "$work/said/$1"
  printf '\n::%s::\n::endgroup::\n' "$token"
}
# run NAME ARGUMENTS...: winnow policy ARGUMENTS, with its findings in files beside. fmt writes no such files.
run() {
  local name=$1 code=0
  shift
  [ "$name" = fmt ] || set -- "$@" --also "sarif=$work/sarif/$name.sarif" --also "junit=$work/junit/$name.xml"
  "$winnow" policy "$@" >"$work/said/$name" 2>&1 || code=$?
  show "$name"
  judged "$name" "$code"
  return "$code"
}

rules_of=()
[ -z "$config" ] || rules_of=(--rules-of "$config")
loads=true
run check check "$policies" "${rules_of[@]}" || loads=false
tests=(test "$policies" --coverage)
[ -z "$threshold" ] || tests+=(--threshold "$threshold")
run fmt fmt "$policies" --diff || true
if $loads; then
  run test "${tests[@]}" || true
  if [ "$conformance" = true ]; then run conformance test "$policies" --conformance || true; else skipped conformance "conformance: false"; fi
else
  skipped test "the policies are refused"
  skipped conformance "the policies are refused"
fi

if [ "$regal" != false ] && program=$(command -v regal); then
  options=()
  [ ! -f "$work/regal.yaml" ] || options=(--config-file "$work/regal.yaml")
  code=0
  "$program" lint "${options[@]}" --format sarif --output-file "$work/sarif/regal.sarif" -- "$policies" >/dev/null 2>&1 || true
  "$program" lint "${options[@]}" -- "$policies" >"$work/said/regal" 2>&1 || code=$?
  show regal
  judged regal "$code"
elif [ "$regal" = true ]; then
  echo "regal is not on PATH, and the input regal is true: install it in a step before" >"$work/said/regal"
  judged regal 1 "not installed"
elif [ "$regal" = auto ]; then
  skipped regal "not installed"
fi

# The comparison: the base is where the change began.
base='' note=''
# told SENTENCE: why nothing was compared.
told() {
  echo "$1" >"$work/said/diff"
  show diff
}
# open_to_others FOLDER: whether another user than this one and root can change what lies in it or on the way to it.
open_to_others() {
  local at=$1 strangers=(! -user "$(id -u)" ! -user 0)
  [ -z "$(find "$at" \( "${strangers[@]}" -o ! -type l -perm /022 \) -print -quit)" ] || return 0
  while [ "$at" != / ]; do
    at=$(dirname -- "$at")
    [ -z "$(find "$at" -maxdepth 0 \( "${strangers[@]}" -o -perm /022 ! -perm -1000 \))" ] || return 0
  done
  return 1
}
head=$(commit HEAD) || head=
wanted=${INPUT_BASE:-${BASE_OF_PULL_REQUEST:-${BASE_OF_MERGE_GROUP:-${BASE_OF_PUSH:-}}}}
compare() {
  if [ -z "$wanted" ] || [[ $wanted =~ ^0+$ ]]; then
    skipped diff "no base: this is no pull request, and the input base is empty"
    return
  fi
  if [ -z "$head" ]; then
    told "the working folder is no checkout of a repository with a commit: check the repository out in a step before"
    judged diff 1
    return
  fi
  if ! base=$(commit "$wanted") || ! base=$(repo merge-base "$base" "$head"); then
    told "the base $wanted, or the history between it and HEAD, is not in this checkout: give actions/checkout 'fetch-depth: 0'"
    judged diff 1 "failed: no base commit"
    return
  fi
  if [ ! -d "$snapshots" ]; then
    if has "$base" "$snapshots"; then
      told "this change removes the folder $snapshots, by which it would be judged"
      judged diff 1 "failed: the snapshots were removed"
    elif [ -n "${INPUT_SNAPSHOTS:-}" ]; then
      told "there is no folder $snapshots in this checkout: is the input snapshots right?"
      judged diff 1 "failed: no snapshots"
    else
      skipped diff "no folder \`snapshots\`: winnow snapshot --redact makes one"
    fi
    return
  fi
  edited=$(repo diff-tree -r --no-renames --name-status -z "$base" "$head" -- "$snapshots" | tr '\0' '\n' | grep -c '^[MDT]$' || true)
  [ "$edited" = 0 ] || note="This change edits or removes $edited of the files by which it is judged (snapshots and labels). What they said before is not compared."
  if ! $loads; then
    skipped diff "the policies are refused"
    return
  fi
  local from=$workspace arguments=() old=$base
  if open_to_others "$(repo rev-parse --path-format=absolute --git-common-dir)"; then # winnow reads no such repository
    git init -q --bare "$work/repository.git"
    printf '[safe]\n\tdirectory = *\n' >"$work/home/.gitconfig"
    HOME=$work/home git -C "$work/repository.git" fetch -q --depth=1 "file://$workspace" "$base" "$head"
    from=$work/repository.git
  fi
  has "$base" "$policies" || old=embedded
  if [ -n "$config" ]; then
    arguments+=(--config-head "$head:$config")
    ! has "$base" "$config" || arguments+=(--config-base "$base:$config")
  fi
  [ "$fail_on" = none ] || arguments+=(--fail-on "$fail_on")
  run diff diff "$old" "$head" --repo "$from" --path "$policies" --snapshots "$snapshots" "${arguments[@]}" \
    --also "markdown=$work/diff.md" --also "json=$work/diff.json" --also "codequality=$work/codequality.json" || true
}
compare

# The comment: a title, a table of the checks, what would go, and what the checks that failed said. That is indented: nothing in it ends a block of code.
{
  printf '<!-- winnow policies: %s -->\n' "$(tr -c 'A-Za-z0-9._/\n-' _ <<<"$policies")"
  title=passed
  [ ${#failed[@]} = 0 ] || title="failed: $(sed 's/ /, /g' <<<"${failed[*]}")"
  printf '## Winnow policies %s\n\n| check | what it holds | result |\n|---|---|---|\n' "$title"
  for i in "${!names[@]}"; do printf '| %s | %s | %s |\n' "${names[i]}" "${about[${names[i]}]}" "${words[i]}"; done
  [ -z "$note" ] || printf '\n> [!WARNING]\n> %s\n' "$note"
  if [ -f "$work/diff.md" ]; then
    printf '\n'
    cat "$work/diff.md"
    printf '\n'
  else
    printf '\n### Nothing was compared\n'
  fi
  for name in "${failed[@]}"; do
    if [ "$name" != diff ] || [ ! -f "$work/diff.md" ]; then
      printf '\n<details open><summary>what %s said</summary>\n\n' "$name"
      head -c 2000 "$work/said/$name" | iconv -c -f UTF-8 -t UTF-8 | tr -d '\000-\010\013-\037\177' | sed 's/^/    /'
      [ "$(wc -c <"$work/said/$name")" -le 2000 ] || printf '\n    ... the log of the run has the rest\n'
      printf '\n</details>\n'
    fi
  done
} >"$work/comment.md"

# Counts are read from the document, in which no name can look like this: quotation marks in names have a backslash before them.
count() { [ ! -f "$work/diff.json" ] || tr -d ' \n' <"$work/diff.json" | grep -o "\"changes\":{\"new_reap\".*" | grep -o "\"$1\":{\"things\":[0-9]*" | head -n 1 | grep -o '[0-9]*$'; }
result=passed
[ ${#failed[@]} = 0 ] || result=failed
umask 022
if [ -n "${INPUT_OUT:-}" ]; then
  out=$workspace/$(inside out "$INPUT_OUT" winnow)
  mkdir -p -- "$out"
else
  out=$(mktemp -d "${RUNNER_TEMP:-${TMPDIR:-/tmp}}/winnow-policies-XXXXXX")
fi
cp -R "$work/sarif" "$work/junit" "$work/comment.md" "$out"
for file in diff.json codequality.json; do [ ! -f "$work/$file" ] || cp "$work/$file" "$out"; done
chmod -R a+rX "$out"
others=
[ ! -f "$work/diff.json" ] || others=$(($(count reasons) + $(count scope)))
{
  printf 'result=%s\ncomment=%s\nsarif=%s\njunit=%s\n' "$result" "$out/comment.md" "$out/sarif" "$out/junit"
  printf 'new-reap=%s\nnew-keep=%s\nothers=%s\n' "$(count new_reap)" "$(count new_keep)" "$others"
} >>"${GITHUB_OUTPUT:-/dev/null}"
cat "$out/comment.md" >>"${GITHUB_STEP_SUMMARY:-/dev/null}"
for i in "${!names[@]}"; do printf '%-12s %s\n' "${names[i]}" "${words[i]//\*/}"; done
if [ "$result" = failed ]; then
  annotate error "winnow policies: failed: ${failed[*]}. The summary of the run says why"
  exit 1
fi
