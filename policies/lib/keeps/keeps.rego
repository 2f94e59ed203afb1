# METADATA
# title: Keeps
# description: Whether an entry that keeps, of the policies or of a repository, is about the reasons that were found.
package policies.lib.keeps

import data.policies.lib.levels

# True when an entry is for certain rules, others than those that found a reason, or than one of them. Without any
# reason to reap the candidate stays as it is, and such an entry has nothing to keep it from.
for_other_rules(rules) if {
	count(rules) > 0
	count(levels.counting - {rule | some rule in rules}) > 0
}

for_other_rules(rules) if {
	count(rules) > 0
	count(levels.counting) == 0
}
