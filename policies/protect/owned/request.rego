package policies.protect.owned

import data.policies.lib.reasons

# METADATA
# title: Its pull request is open
# description: The forge says that a pull request of its branch is open, or did not answer (collect.forge).
objections contains reasons.keep_first([_open, _unasked], _request_unknown, _requests) if {
	input.dir.git.worktree == true
	not _no_open_request
}

_request_unknown := "whether a pull request of its branch is open is not known"

_unasked contains $"{_request_unknown}: {input.dir.git.forge_error}" if {
	input.dir.git.forge_error != ""
}

_no_open_request if input.config.forge == "off"
_no_open_request if input.dir.gone == true
_no_open_request if input.dir.git.detached == true

# Git shows that its work has landed.
_no_open_request if input.dir.git.landed == true
_no_open_request if input.dir.git.landing.by in {"patches", "squash", "tree"}

_no_open_request if {
	input.dir.git.forge_asked == true
	count({true | some request in input.dir.git.pull_requests; request.by == "forge"; request.state == "open"}) == 0
	is_array(input.dir.git.pull_requests)
}

_open contains $"its pull request {request.number} is open" if {
	some request in input.dir.git.pull_requests
	request.by == "forge"
	request.state == "open"
}

_requests contains {"pull_requests": input.dir.git.pull_requests}
