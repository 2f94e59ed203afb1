# METADATA
# title: {{.Title}}, tested
# description: What stays, and what this rule says nothing of.
package policies.{{.ID}}_test

import data.policies.{{.ID}}

_subject := {"label": "{{.Word}}1", "config": {"custom": {"{{.Own}}": ["{{.Word}}"]}}}

_changed(path, value) := json.patch(_subject, [{"op": "replace", "path": path, "value": value}])

test_one_of_that_label_stays if {
	count({{.Leaf}}.objections) == 1 with input as _subject
}

test_of_another_label_it_says_nothing if {
	count({{.Leaf}}.objections) == 0 with input as _changed("/label", "other")
}

test_nothing_is_kept_by_default if {
	count({{.Leaf}}.objections) == 0 with input as _changed("/config/custom/{{.Own}}", [])
}

test_a_missing_fact_keeps if {
	every path in ["/label", "/config/custom/{{.Own}}", "/config"] {
		count({{.Leaf}}.objections) == 1 with input as json.remove(_subject, [path])
	}
}
