# METADATA
# title: Ties of a process
# description: >-
#   What a process is for although what started it has ended. Each says of a process and all below it that there is
#   positively nothing of that.
package policies.lib.ties

# It was not meant to outlive what started it, it is connected to nothing else, and it writes nothing.
loose if {
	count(input.lineage.intent) == 0
	input.lineage.connections == 0
	settled
}

# It has no regular file open for writing, or each of these has not changed for as long as a busy process waits.
settled if input.lineage.writes_files == 0
settled if input.lineage.output >= input.config.confirm_busy_after

# The pids of the members of panes with nothing of that.
members contains member.pid if {
	some member in input.members
	count(member.lineage.intent) == 0
	member.lineage.connections == 0
	member.lineage.writes_files == 0
}

members contains member.pid if {
	some member in input.members
	count(member.lineage.intent) == 0
	member.lineage.connections == 0
	member.lineage.output >= input.config.confirm_busy_after
}
