# METADATA
# title: {{.Title}}, tested
# description: One that goes, and what makes it stay.
package policies.{{.ID}}_test

import data.policies.{{.ID}}

_subject := {{.Subject}}

_changed(path, value) := json.patch(_subject, [{"op": "replace", "path": path, "value": value}])

test_it_may_go if {
	{{.Leaf}}.in_scope with input as _subject
	count({{.Leaf}}.findings) == 1 with input as _subject
}

test_one_of_another_name_stays if {
	not {{.Leaf}}.in_scope with input as _changed("{{index .Facts 0}}", "other")
	count({{.Leaf}}.findings) == 0 with input as _changed("{{index .Facts 0}}", "other")
}

test_nothing_goes_by_default if {
	count({{.Leaf}}.findings) == 0 with input as _changed("/config/custom/{{.Own}}", [])
}

test_{{.SpareName}}_stays if {
	count({{.Leaf}}.findings) == 0 with input as _changed({{.Spare}})
}

test_a_missing_fact_is_no_reason if {
	paths := [
		"/config/custom/{{.Own}}",
{{- range .Facts}}
		"{{.}}",
{{- end}}
	]
	every path in paths {
		count({{.Leaf}}.findings) == 0 with input as json.remove(_subject, [path])
	}
}
