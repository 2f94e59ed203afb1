package policies.lib.processes_test

import data.policies.lib.processes
import data.policies.lib.subjects_test as subjects

test_a_process_is_what_its_name_says if {
	processes.agent == false with input as subjects.process
	processes.agent == true with input as subjects.changed(subjects.process, "/process/name", "codex")
	processes.multiplexer == true with input as subjects.changed(subjects.process, "/process/name", "tmux: server")
}

test_without_a_name_it_is_not_known if {
	every path in ["/process/name", "/process", "/config/agents"] {
		nameless := subjects.without(subjects.process, [path])
		count([agent | agent := processes.agent]) == 0 with input as nameless
	}
	empty := subjects.changed(subjects.process, "/process/name", "")
	count([agent | agent := processes.agent]) == 0 with input as empty
}
