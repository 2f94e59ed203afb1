# METADATA
# title: Keeps
# description: Whether an entry that keeps, of the policies or of a repository, is about the reasons that were found.
package policies.lib.keeps

import data.policies.lib.levels

# True when an entry is for certain rules, and others found a reason. Without a reason nothing has to be kept.
for_other_rules(rules) if {
	count(rules) > 0
	count(levels.counting - {rule | some rule in rules}) > 0
}

for_other_rules(rules) if {
	count(rules) > 0
	count(levels.counting) == 0
}
