package policies.protect.owned_test

import data.policies.protect.owned

_requested := {
	"kind": "dir",
	"config": {"forge": "gh"},
	"dir": {"gone": false, "git": {
		"worktree": true, "detached": false, "landed": false, "landing": {"by": "", "into": "refs/remotes/origin/main"},
		"head": "aa11", "forge_asked": true, "pull_requests": [],
	}},
	"entries": [], "spawns": [],
}

_git(changed) := json.patch(_requested, [{"op": "add", "path": $"/dir/git/{name}", "value": value} |
	some name, value in changed
])

_request(state) := {"by": "forge", "number": 7, "state": state, "head": "aa11"}

_about contains objection.message if {
	some objection in owned.objections
	contains(objection.message, "pull request")
}

test_without_an_open_request_it_may_go if {
	_about == set() with input as _requested
	_about == set() with input as _git({"pull_requests": [_request("merged"), _request("closed")]})
}

test_an_open_request_keeps if {
	_about == {"its pull request 7 is open"} with input as _git({"pull_requests": [_request("merged"), _request("open")]})
}

test_a_record_of_an_open_request_is_no_answer_of_the_forge if {
	_about == set() with input as _git({"pull_requests": [object.union(_request("open"), {"by": "configuration"})]})
}

test_what_the_forge_does_not_answer_keeps if {
	unknown := "whether a pull request of its branch is open is not known"
	_about == {unknown} with input as json.remove(_requested, ["dir/git/forge_asked"])
	_about == {unknown} with input as json.remove(_requested, ["dir/git/pull_requests"])
	silent := json.remove(_git({"forge_error": "gh did not answer in time"}), ["dir/git/forge_asked"])
	_about == {$"{unknown}: gh did not answer in time"} with input as silent
}

test_a_forge_that_is_not_asked_keeps_nothing if {
	off := json.patch(_git({"pull_requests": [_request("open")]}), [{"op": "replace", "path": "/config/forge", "value": "off"}])
	_about == set() with input as off
}

test_what_git_shows_to_have_landed_needs_no_forge if {
	every proof in [{"landed": true}, {"landing": {"by": "squash", "into": "refs/remotes/origin/main"}}, {"detached": true}] {
		_about == set() with input as json.remove(_git(proof), ["dir/git/forge_asked"])
	}
}
