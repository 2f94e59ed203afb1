package policies.protect.wip_test

import data.policies.protect.wip

# A worktree on a branch.
on(branch) := {"kind": "dir", "dir": {"checkout": true, "git": {"branch": branch}}}

test_work_in_progress_stays if count(wip.objections) == 1 with input as on("refs/heads/wip/report")

test_another_branch_is_not_kept if count(wip.objections) == 0 with input as on("refs/heads/login")

test_an_unknown_branch_stays if count(wip.objections) == 1 with input as {"kind": "dir", "dir": {"checkout": true}}

test_a_detached_head_is_not_kept if {
	count(wip.objections) == 0 with input as {"kind": "dir", "dir": {"checkout": true, "git": {"detached": true}}}
}

test_no_checkout_is_not_kept if count(wip.objections) == 0 with input as {"kind": "dir", "dir": {"checkout": false}}

test_a_session_is_not_kept if count(wip.objections) == 0 with input as {"kind": "session"}
