package report

import "time"

// RunningSchema names the shape of what winnow top --format json prints.
const RunningSchema = "winnow.top/v1"

// Running is what runs at one time. docs/reference/schemas/top.json is generated from it.
type Running struct {
	Schema  string    `json:"schema" jsonschema:"enum=winnow.top/v1"`
	TakenAt time.Time `json:"taken_at"`
	// Over is between which two looks processor time was measured, in seconds; 0 where there was only one.
	Over float64 `json:"over"`
	// Owners are the agents with what they run, and what agents that have ended left behind; those with most memory first.
	Owners []Owner `json:"owners"`
	// Notes say which agents run that nothing speaks with.
	Notes []string `json:"notes,omitempty"`
}

// Owner is an agent, or an agent's session, with what runs for it.
type Owner struct {
	// Name says it to a person: "claude (24)", "agent session 5a3c2f11". Alive is true where an agent of it runs, false where none can: of no process
	// of it any agent that lives may be the one that started it. It is absent where one may be.
	Name  string `json:"name"`
	Alive *bool  `json:"alive,omitempty"`
	// ID is the agent's own process, absent for a session of an agent. Places are the sessions and worktrees in which its processes run.
	ID     string  `json:"id,omitempty"`
	Places []Place `json:"places,omitempty"`
	// CPU is in processors, Memory in bytes, both the sum over Processes.
	CPU       *float64  `json:"cpu,omitempty"`
	Memory    int64     `json:"memory"`
	Processes []Process `json:"processes"`
}

// Place is a session, a tab or a worktree, with its name for a person: "session acme", "worktree ~/w/acme".
type Place struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// Process is one process of an owner.
type Process struct {
	ID  string `json:"id"`
	PID int    `json:"pid"`
	// Parent is the pid that started it, or has taken it over.
	Parent  int    `json:"parent,omitempty"`
	Command string `json:"command"`
	Folder  string `json:"folder,omitempty"`
	// Age is in seconds, CPU in processors since the look before. Memory is in bytes: its share of what is in memory (PSS), or, where that cannot be
	// read, all that it has there (RSS); Shared is then true.
	Age    *float64 `json:"age,omitempty"`
	CPU    *float64 `json:"cpu,omitempty"`
	Memory *int64   `json:"memory,omitempty"`
	Shared bool     `json:"memory_is_rss,omitempty"`
	Agent  bool     `json:"agent,omitempty"`
	// Verdict is reap, wait, keep, the level of the only rules that found a reason (ask, observe), or, for what no rule is about, "". Why is the
	// main reason.
	Verdict string `json:"verdict,omitempty" jsonschema:"enum=reap,enum=wait,enum=keep,enum=ask,enum=observe"`
	Why     string `json:"why,omitempty"`
}
