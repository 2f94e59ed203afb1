package document

// AgentsSchema names the shape of what winnow agents --format json prints.
const AgentsSchema = "winnow.agents/v1"

// Agents are the agents and orchestrators that are known. docs/reference/schemas/agents.json is generated from it.
type Agents struct {
	Schema string       `json:"schema" jsonschema:"enum=winnow.agents/v1"`
	Agents []KnownAgent `json:"agents"`
}

// KnownAgent is what is known of an agent by its file, and what of it runs.
type KnownAgent struct {
	Name  string `json:"name"`
	Title string `json:"title"`
	// Version is what its file was written from; File is where that stands, absent for one that the program ships.
	Version string `json:"version,omitempty"`
	File    string `json:"file,omitempty"`
	// PIDs are this user's processes that are its programs.
	PIDs []int `json:"pids"`
}
