# METADATA
# title: {{.Title}}
# description: |-
#   {{.Several}} whose {{.Field}} begins with one of the words in `rules.custom.{{.Own}}`{{.And}}.
#
#   The list is empty by default, so that the rule finds nothing before somebody fills it. Edit the conditions below,
#   and say here what they mean.
# custom:
{{- with .Needs}}
#   needs: [{{.}}]
{{- end}}
{{- with .Candidates}}
#   candidates: [{{.}}]
{{- end}}
#   own:
#     {{.Own}}: {type: list, default: [], description: how the {{.Field}} of such {{.Thing}} begins}
{{- if .Wait}}
#     {{.Own}}_after: {type: duration, default: 3d, description: {{.Wait}}}
{{- end}}
package policies.{{.ID}}

# METADATA
# title: In scope
# description: The {{.Field}} begins with a word of the list. An empty word puts nothing in scope.
in_scope if {
	input.kind == "{{.Kind}}"
	some word in input.config.custom.{{.Own}}
	word != ""
	startswith(input.{{.Name}}, word)
}

# METADATA
# title: {{.Title}}
# description: {{.Means}}
findings contains {
	"message": "{{.Message}}",
	"evidence": {"{{.Field}}": input.{{.Name}}{{.Evidence}}},
} if {
	in_scope
{{- range .Conditions}}
	{{.}}
{{- end}}
}
