# METADATA
# title: Names
# description: What the operator's lists of names and globs say of a name. Undefined without the list or the name.
package policies.lib.names

# True when no glob of rules.protected matches the name. A malformed glob protects everything.
unprotected(name) if {
	every pattern in input.config.protected {
		pattern != name
		glob.match(pattern, ["/"], name) == false
	}
}

# True when a process of that name is not one of rules.never_processes.
endable(name) if {
	name != ""
	count(input.config.never_processes) >= 0
	not never(name)
}

# True when rules.never_processes has the name, as far as the kernel keeps it. A * at the end stands for any rest.
never(name) if name in input.config.never_processes

never(name) if {
	some listed in input.config.never_processes
	endswith(listed, "*")
	startswith(name, trim_suffix(listed, "*"))
}

never(name) if {
	regex.match(`^.{15}$`, name)
	some listed in input.config.never_processes
	startswith(listed, name)
	not endswith(listed, "*")
}

# True when a list has the name in `exact`, or a beginning of it in `prefix`. An empty word lists nothing.
listed(name, list) if {
	name != ""
	name in input.config[list].exact
}

listed(name, list) if {
	some prefix in input.config[list].prefix
	prefix != ""
	startswith(name, prefix)
}
