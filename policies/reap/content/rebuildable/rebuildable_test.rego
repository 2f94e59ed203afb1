package policies.reap.content.rebuildable_test

import data.policies.lib.subjects_test as subjects
import data.policies.main
import data.policies.reap.content.rebuildable

test_a_large_idle_folder_goes if {
	rebuildable.in_scope with input as subjects.content
	findings := rebuildable.findings with input as subjects.content
	subjects.reasons(findings) == ["all that is in it can be made again (node_modules), and nothing has happened in its worktree for 4d"]
	decision := main.decision with input as subjects.content
	decision.verdict == "reap"
}

# Its name stands in no rules.rebuildable, and people use it too.
_marked := subjects.changed(
	subjects.changed(subjects.content, "/dir/content/pattern", "vendor"),
	"/dir/content/maker", "Composer",
)

_makers := [{"maker": "Composer", "names": ["vendor"], "marks": ["composer/installed.json"]}]

test_a_folder_with_the_mark_of_a_listed_maker_goes if {
	count(rebuildable.findings) == 1 with input as subjects.changed(_marked, "/config/makers", _makers)
}

test_a_folder_without_a_mark_of_a_listed_maker_stays if {
	count(rebuildable.findings) == 0 with input as _marked
	count(rebuildable.findings) == 0 with input as subjects.changed(_marked, "/config/makers", [])
	subject := subjects.changed(_marked, "/config/makers", _makers)
	count(rebuildable.findings) == 0 with input as subjects.changed(subject, "/dir/content/maker", "")
	count(rebuildable.findings) == 0 with input as subjects.changed(subject, "/dir/content/maker", "Go")
	count(rebuildable.findings) == 0 with input as subjects.without(subject, ["/dir/content/maker"])
	count(rebuildable.findings) == 0 with input as subjects.without(subject, ["/config/makers"])
}

test_a_worktree_itself_is_no_content if {
	not rebuildable.in_scope with input as subjects.dir
	count(rebuildable.findings) == 0 with input as subjects.dir
}

test_what_cannot_be_made_again_stays if {
	every path, value in {
		"/dir/content/tracked": 1,
		"/dir/content/ignored": false,
		"/dir/content/others": 1,
		"/dir/content/linked": false,
		"/dir/content/registered": false,
		"/dir/content/locked": true,
		"/dir/content/pattern": "data",
		"/dir/content/maker": "",
		"/dir/content/worktree": "/w/feat",
		"/dir/nested": ["clone"],
		"/dir/symlink": true,
		"/dir/checkout": true,
	} {
		count(rebuildable.findings) == 0 with input as subjects.changed(subjects.content, path, value)
	}
}

test_small_content_stays if {
	count(rebuildable.findings) == 0 with input as subjects.changed(subjects.content, "/dir/content/bytes", 9999999)
	count(rebuildable.findings) == 1 with input as subjects.changed(subjects.content, "/dir/content/bytes", 10000000)
}

test_content_that_was_used_lately_stays if {
	count(rebuildable.findings) == 0 with input as subjects.changed(subjects.content, "/idle", 259199)
	count(rebuildable.findings) == 1 with input as subjects.changed(subjects.content, "/idle", 259200)
	count(rebuildable.findings) == 0 with input as subjects.changed(subjects.content, "/idle", -1)
}

test_what_is_not_known_stays if {
	every path in [
		"/dir/content/worktree", "/dir/content/id", "/dir/content/name", "/dir/content/linked", "/dir/content/registered", "/dir/content/locked",
		"/dir/content/pattern", "/dir/content/maker", "/dir/content/ignored", "/dir/content/tracked", "/dir/content/bytes", "/dir/content/others", "/dir/content",
		"/dir/nested", "/dir/symlink", "/dir/checkout", "/dir/path", "/idle", "/config/trim_after", "/config/trim_min", "/config/rebuildable",
	] {
		count(rebuildable.findings) == 0 with input as subjects.without(subjects.content, [path])
	}
}

test_what_keeps_its_worktree_keeps_it if {
	every path, value in {
		"/hold": {"owner": "ann", "reason": "demo"},
		"/holders": [{"pid": 77, "name": "node", "how": "cwd"}],
		"/host/cwd": "/w/feature/src",
		"/config/protected": ["feature"],
		"/entries": [{"source": "registry/workers", "id": "w7", "status": "running", "by": "path", "path": "/w/feature"}],
		"/dir/mounts": 1,
		"/dir/uid": 1001,
		"/age": 60,
	} {
		main.decision.verdict == "spare" with input as subjects.changed(subjects.content, path, value)
	}
	main.decision.verdict == "spare" with input as subjects.changed(subjects.content, "/config/protected", ["dir:/w/feature"])
	main.decision.verdict == "spare" with input as subjects.changed(subjects.content, "/host/cwd", "/w/feature")
	main.decision.verdict == "reap" with input as subjects.changed(subjects.content, "/host/cwd", "/w/feature-2")
}
