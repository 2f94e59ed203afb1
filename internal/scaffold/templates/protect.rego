# METADATA
# title: {{.Title}}
# description: |-
#   Whatever is called by one of the words in `rules.custom.{{.Own}}`, of any kind, stays.
#
#   The list is empty by default, so that the rule keeps nothing before somebody fills it. Edit the condition below,
#   and say here what it means.
# custom:
#   own:
#     {{.Own}}: {type: list, default: [], description: how the labels of what stays begin}
package policies.{{.ID}}

# METADATA
# title: {{.Title}}
# description: Its label begins with a word of the list, or is not known.
objections contains {
	"message": "its label is listed, or not known",
	"evidence": {},
} if {
	not _other
}

# What is safe is stated here and negated above: where the label is not known this is undefined, and the thing stays.
_other if {
	every word in input.config.custom.{{.Own}} {
		startswith(input.label, word) == false
	}
}
