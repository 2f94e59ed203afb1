package policies.protect.workspace_test

import data.policies.lib.subjects_test as subjects
import data.policies.protect.workspace

test_one_of_several_tabs_closes_alone if {
	count(workspace.objections) == 0 with input as subjects.tab
}

test_the_last_tab_stays if {
	some objection in workspace.objections with input as subjects.changed(subjects.tab, "/tab/last_in_workspace", true)
	objection.message == "it is the last tab of its workspace, which would be closed with it"
}

test_a_tab_of_the_workspace_that_leads_a_group_stays if {
	some objection in workspace.objections with input as subjects.changed(subjects.tab, "/tab/group_parent", true)
	objection.message == "its workspace leads a group of workspaces, which would all be closed with it"
}

test_what_is_not_known_stays if {
	every path, reasons in {
		"/tab/last_in_workspace": ["whether it is the last tab of its workspace is not known"],
		"/tab/group_parent": ["whether its workspace leads a group of workspaces is not known"],
	} {
		subjects.reasons(workspace.objections) == reasons with input as subjects.without(subjects.tab, [path])
	}
	subjects.reasons(workspace.objections) == ["whether it is the last tab of its workspace is not known", "whether its workspace leads a group of workspaces is not known"] with input as subjects.without(subjects.tab, ["/tab"])
	subjects.reasons(workspace.objections) == ["whether it is the last tab of its workspace is not known", "whether its workspace leads a group of workspaces is not known"] with input as subjects.without(subjects.tab, ["/tab/last_in_workspace", "/tab/group_parent", "/tab/workspace"])
}

test_nothing_else_is_in_a_workspace if {
	every subject in [subjects.dir, subjects.session, subjects.process] {
		count(workspace.objections) == 0 with input as subject
	}
}

test_an_editors_tab_has_no_workspace_of_herdrs if {
	every tab in subjects.editor_tabs {
		count(workspace.objections) == 0 with input as tab
	}
	count(workspace.objections) == 2 with input as subjects.without(subjects.editor_tab, ["/tab/editor"])
}
