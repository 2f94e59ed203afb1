#!/usr/bin/env bash
# Writes the comment of run.sh into the pull request, in the place of the one that it wrote before. What cannot be written is a warning: a pull request
# from a fork has no token that may, and the summary of the run has the same text.
set -euo pipefail

warn() {
  printf '::warning::%s; the summary of the run has the same text\n' "$1"
  exit 0
}
[ -f "${COMMENT:-}" ] || warn "there is no comment to write: the step before did not come so far"
[[ ${PULL_REQUEST:-} =~ ^[0-9]+$ ]] || warn "this is no pull request, so there is no place for the comment"
[ -n "${GH_TOKEN:-}" ] || warn "there is no token to write the comment with"
command -v gh >/dev/null || warn "gh is not on PATH, so the comment was not written"

# Only what a bot wrote is replaced: a person may quote the first line.
IFS= read -r first <"$COMMENT"
export FIRST=$first
list='.[] | select(.user.type == "Bot" and (.body | startswith(env.FIRST))) | .id'
comments=repos/$GITHUB_REPOSITORY/issues
id=$(gh api --paginate "$comments/$PULL_REQUEST/comments" --jq "$list" | head -n 1) || warn "the comments of the pull request could not be read"
if [[ $id =~ ^[0-9]+$ ]]; then
  gh api --silent --method PATCH "$comments/comments/$id" -F "body=@$COMMENT" || warn "the comment could not be changed"
else
  gh api --silent --method POST "$comments/$PULL_REQUEST/comments" -F "body=@$COMMENT" || warn "the comment could not be written (it wants the permission pull-requests: write)"
fi
