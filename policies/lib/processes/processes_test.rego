package policies.lib.processes_test

import data.policies.lib.processes
import data.policies.lib.subjects_test as subjects

test_a_process_is_what_its_name_says if {
	processes.agent == false with input as subjects.process
	processes.agent == true with input as subjects.changed(subjects.process, "/lineage/is_agent", true)
	processes.multiplexer == true with input as subjects.changed(subjects.process, "/process/name", "tmux: server")
}

test_what_is_not_read_is_not_known if {
	every path in ["/process/name", "/process", "/config/multiplexers"] {
		nameless := subjects.without(subjects.process, [path])
		count([multiplexer | multiplexer := processes.multiplexer]) == 0 with input as nameless
	}
	empty := subjects.changed(subjects.process, "/process/name", "")
	count([multiplexer | multiplexer := processes.multiplexer]) == 0 with input as empty
	count([agent | agent := processes.agent]) == 0 with input as subjects.without(subjects.process, ["/lineage/is_agent"])
}

test_markers_are_its_own_where_no_multiplexer_has_them if {
	processes.own_markers with input as subjects.process
	not processes.own_markers with input as subjects.changed(subjects.process, "/lineage/multiplexer", true)
	not processes.own_markers with input as subjects.without(subjects.process, ["/lineage/multiplexer"])
}
