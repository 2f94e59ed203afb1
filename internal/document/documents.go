// Package document has the documents that operations return and the local API carries: each survives JSON unchanged.
package document

import (
	"time"

	"github.com/winnow-reaper/winnow/collectors/wake"
	"github.com/winnow-reaper/winnow/engine/alarm"
	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/explain"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/engine/subject"
	"github.com/winnow-reaper/winnow/internal/brakes"
	"github.com/winnow-reaper/winnow/internal/ledger"
	"github.com/winnow-reaper/winnow/internal/ledger/lock"
	"github.com/winnow-reaper/winnow/internal/recorded"
	"github.com/winnow-reaper/winnow/internal/report"
)

// Emptied is what trash empty removed and what it left.
type Emptied struct {
	Removed []report.Purged `json:"removed"`
	Left    []Left          `json:"left"`
	// Freed is how many bytes came free.
	Freed int64 `json:"freed_bytes"`
}

// Left is an act whose things were not removed, and why.
type Left struct {
	Act       string `json:"act"`
	Candidate string `json:"candidate"`
	Why       string `json:"why"`
}

// Restored is an act whose thing was brought back.
type Restored struct {
	Restored  string `json:"restored"`
	Candidate string `json:"candidate"`
	Detail    string `json:"detail"`
	// Held is the hold that keeps it. Without one Again says when a folder or a session goes again. NextCommand lifts the hold, or places one.
	Held        *snapshot.Hold `json:"held,omitempty"`
	Again       string         `json:"again,omitempty"`
	NextCommand string         `json:"next_command,omitempty"`
}

// SetAside is an act that can be brought back, with what it takes up in the trash; absent where that is not known.
type SetAside struct {
	ledger.Act
	Bytes *int64 `json:"bytes,omitempty"`
}

// Cleaned is what winnow cleanup prints as JSON when it did it.
type Cleaned struct {
	Cleaned string        `json:"cleaned"`
	Worker  string        `json:"worker,omitempty"`
	Act     *decision.Act `json:"act"`
	// Settled are acts of an earlier sweep that was cut short, with how they went in the end.
	Settled []decision.Act `json:"settled,omitempty"`
}

// StatsSchema names the shape of what winnow stats --format json prints.
const StatsSchema = "winnow.stats/v1"

// Stats are the acts that were done since a time, summed up. docs/reference/schemas/stats.json is generated from it.
type Stats struct {
	Schema string    `json:"schema" jsonschema:"enum=winnow.stats/v1"`
	Since  time.Time `json:"since"`
	Total  Share     `json:"total"`
	// Weeks are named by their Mondays and come in their order; of the others those that freed most come first. A repository is that of a folder.
	Weeks        []Share `json:"weeks"`
	Repositories []Share `json:"repositories"`
	Kinds        []Share `json:"kinds"`
}

// Share is a part of the acts that were done: how many, and how many bytes of disk and of memory each took up when it went.
type Share struct {
	Name   string `json:"name"`
	Acts   int    `json:"acts"`
	Bytes  int64  `json:"bytes"`
	Memory int64  `json:"memory"`
}

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

// Declined is what retain, release and cleanup print as JSON when they do not do what they were asked to. It is the error of these operations too.
type Declined struct {
	// Refused is the candidate's id, or the registry's for a worker without one; Reason a word that scripts may branch on.
	Refused string `json:"refused"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
	// Worker and Source are the registry entry's id and where it stands, where it is about one.
	Worker      string `json:"worker,omitempty"`
	Source      string `json:"source,omitempty"`
	NextCommand string `json:"next_command,omitempty"`
	// Objections are those of the policies, Act what came of the act where one was begun.
	Objections []decision.Reason `json:"objections,omitempty"`
	Act        *decision.Act     `json:"act,omitempty"`
}

// Error says what was not done, why, and what comes next.
func (d *Declined) Error() string {
	if d.NextCommand == "" {
		return d.Message
	}
	return d.Message + ". Next: " + d.NextCommand
}

// ExplanationSchema names the shape of Explanation.
const ExplanationSchema = "winnow.explanation/v1"

// Explanation is what winnow explain prints as JSON: the engine's explanation, and where the facts came from. docs/reference/schemas/explanation.json is
// generated from it.
type Explanation struct {
	Schema string `json:"schema" jsonschema:"enum=winnow.explanation/v1"`
	explain.Explanation
	// WouldChange is what would have to be otherwise for the other verdict; absent where no rule claims the candidate, and where it was not found
	// out.
	WouldChange *decision.Counterfactual `json:"would_change,omitempty"`
	TakenAt     time.Time                `json:"taken_at"`
	Policy      report.PolicyRef         `json:"policy"`
	// Main is the one reason that says most to a person.
	Main *decision.Main `json:"main,omitempty"`
	// Sources are those that the candidate, or evidence about it, rests on.
	Sources map[string]snapshot.Source `json:"sources"`
	// Refusal is what came of acts on it that came to nothing; only for a fresh look.
	Refusal *alarm.Refusal `json:"refusal,omitempty"`
	// Terminal answers why a terminal whose builder is gone stays; only for a fresh look at one.
	Terminal []Answer `json:"terminal,omitempty"`
	// Notes say what was not found out.
	Notes []string `json:"notes,omitempty"`
	// Subject is what the policies judged.
	Subject *subject.Subject `json:"subject"`
}

// Answer is one question about a terminal that stays although its builder is gone, and what is known of it.
type Answer struct {
	Question string `json:"question"`
	// Answer is yes, no or unknown.
	Answer string `json:"answer" jsonschema:"enum=yes,enum=no,enum=unknown"`
	Detail string `json:"detail"`
}

// Decision is the decision that is explained, with the reasons that count.
func (x Explanation) Decision() decision.Decision {
	counting := func(fired []explain.Fired) (out []decision.Reason) {
		for _, f := range fired {
			if f.Level != decision.Off {
				out = append(out, f.Reason)
			}
		}
		return out
	}
	d := decision.Decision{ID: x.ID, Kind: x.Kind, Label: x.Label, Verdict: x.Verdict, Level: x.Level,
		InScope: x.InScope, Findings: counting(x.Findings), Objections: counting(x.Objections)}
	if x.Subject != nil {
		d.Owner, d.About = x.Subject.Owner, x.Subject.About()
	}
	return d
}

// Act, Sweep and Pause are the ledger's, as documents carry them.
type (
	Act   = ledger.Act
	Sweep = ledger.Sweep
	Pause = lock.Pause
)

// History is what winnow history prints as JSON.
type History struct {
	Sweeps []ledger.Sweep `json:"sweeps"`
	Acts   []ledger.Act   `json:"acts"`
}

// Verified is what winnow history --verify prints as JSON.
type Verified struct {
	Ledger string `json:"ledger"`
	// Holds is false where there are faults.
	Holds bool `json:"holds"`
	ledger.Chain
}

// Released is what winnow release prints as JSON.
type Released struct {
	Released string `json:"released"`
	// Also are other holds of the same worker, on sessions that it had before.
	Also []string `json:"also,omitempty"`
	// Retained is the registry that still keeps it, and NextCommand the command that lets go of it there.
	Retained    string `json:"retained,omitempty"`
	NextCommand string `json:"next_command,omitempty"`
}

// Resumed is what winnow resume prints as JSON.
type Resumed struct {
	// Resumed is false where nothing was paused.
	Resumed bool `json:"resumed"`
}

// Look is the latest look that remembers nothing, which is made while somebody asks for it.
type Look struct {
	// Stamp changes when a page made of it, or of what the ledger has, may show something else.
	Stamp string `json:"stamp"`
	// Problem is why the latest look failed, so that the report is of an earlier one; "" where it did not.
	Problem string `json:"problem,omitempty"`
	// Report is absent before the first look has ended, and where who asks has named the stamp.
	Report *report.Report `json:"report,omitempty"`
}

// Policies are what decides.
type Policies struct {
	report.PolicyRef
	Layers     []report.PolicyLayer `json:"layers"`
	Exceptions []report.Exception   `json:"exceptions"`
	// Rules are sorted by their id.
	Rules []Rule `json:"rules"`
}

// Rule is a rule with its level.
type Rule struct {
	ID          string `json:"id"`
	Title       string `json:"title"`
	Description string `json:"description"`
	File        string `json:"file"`
	Line        int    `json:"line"`
	// Levels are those of kinds for which it is not on, such as "off for process".
	Levels []string `json:"levels,omitempty"`
}

// ReplaySchema names the shape of a Replay.
const ReplaySchema = "winnow.replay/v1"

// Replay is what winnow policy replay prints as JSON.
type Replay struct {
	Schema string           `json:"schema"`
	Policy report.PolicyRef `json:"policy"`
	// Same is true when every recorded sweep was decided as it was then.
	Same   bool            `json:"same"`
	Sweeps []ReplayedSweep `json:"sweeps"`
}

// ReplayedSweep is a recorded sweep that was decided again. Ids are stand-ins, as in the recording.
type ReplayedSweep struct {
	Sweep string `json:"sweep"`
	// Policy is what decided then, and Decisions counts what it decided.
	Policy    report.PolicyRef `json:"policy"`
	Decisions int              `json:"decisions"`
	// Differ are the candidates that are decided otherwise now.
	Differ []ChangedDecision `json:"differ"`
}

// ChangedDecision is a candidate that was decided one way and is decided in another. Either is absent where the candidate was not in scope.
type ChangedDecision struct {
	ID  string            `json:"id"`
	Was *recorded.Decided `json:"was,omitempty"`
	Now *recorded.Decided `json:"now,omitempty"`
}

// BuiltBundle is what winnow policy bundle prints as JSON.
type BuiltBundle struct {
	File string `json:"file"`
	BundleContent
	// RevisionFrom and SerialFrom say where those are from: flag, manifest, git, or digest. SerialFrom is empty where there is no serial.
	RevisionFrom string `json:"revision_from"`
	SerialFrom   string `json:"serial_from,omitempty"`
	Bytes        int    `json:"bytes"`
}

// BundleContent is what is in a bundle.
type BundleContent struct {
	Revision string   `json:"revision"`
	Serial   int64    `json:"serial,omitempty"`
	Digest   string   `json:"digest"`
	Roots    []string `json:"roots"`
	Files    int      `json:"files"`
	// Rules is how many rules it adds to those that it was loaded with.
	Rules  int  `json:"rules"`
	Signed bool `json:"signed"`
	// KeyID, Algorithm and Scope are those of the signature.
	KeyID     string `json:"key_id,omitempty"`
	Algorithm string `json:"algorithm,omitempty"`
	Scope     string `json:"scope,omitempty"`
}

// VerifiedBundle is what winnow policy verify prints as JSON.
type VerifiedBundle struct {
	File string `json:"file"`
	BundleContent
}

// The modes of the daemon.
const (
	Observing = "observing"
	Acting    = "acting"
	Paused    = "paused"
	Braked    = "braked"
)

// Status is how the daemon stands.
type Status struct {
	Mode    string    `json:"mode" jsonschema:"enum=observing,enum=acting,enum=paused,enum=braked"`
	Since   time.Time `json:"since"`
	Started time.Time `json:"started"`
	PID     int       `json:"pid"`
	// Paused says until when and why, while a pause holds.
	Paused *lock.Pause `json:"paused,omitempty"`
	// Brakes are those that tripped and are not released.
	Brakes []brakes.Brake `json:"brakes"`
	// Sweeps counts those that looked, Failed those that came to nothing.
	Sweeps int `json:"sweeps"`
	Failed int `json:"failed"`
	// Short counts the sweeps among them that found nothing new by stamps, Disagreed the whole ones that decided otherwise than had stood by these.
	Short     int `json:"short"`
	Disagreed int `json:"disagreed"`
	// Sweeping is true while a sweep is under way.
	Sweeping bool `json:"sweeping"`
	// Last is the latest sweep that looked; absent before the first.
	Last *SweptOnce `json:"last,omitempty"`
	// Reloads counts what followed SIGHUP, ReloadsFailed those of them that changed nothing.
	Reloads       int `json:"reloads"`
	ReloadsFailed int `json:"reloads_failed"`
	// Policies is when those that decide now began to.
	Policies time.Time `json:"policies_since"`
	// Problem is why the latest sweep came to nothing, "" where it did not; Reload why the latest SIGHUP changed nothing.
	Problem string `json:"problem,omitempty"`
	Reload  string `json:"reload,omitempty"`
	// Pressure is what the machine is short of, "" where it is of nothing that is known.
	Pressure string `json:"pressure,omitempty"`
	// Next is when the next sweep is due, and why.
	Next time.Time `json:"next"`
	Why  string    `json:"why"`
	// Wakes counts events by what they came from.
	Wakes map[string]int `json:"wakes"`
	// Events says of each source of events whether it is listened to, and why not: files, exits, and every herdr server by its source's name.
	Events map[string]wake.State `json:"events"`
}

// SweptOnce is one sweep in short.
type SweptOnce struct {
	Sweep string    `json:"sweep"`
	At    time.Time `json:"at"`
	Why   string    `json:"why"`
	// Took is in seconds.
	Took   float64                 `json:"took"`
	Census map[string]report.Count `json:"census"`
	// Short is true where it found nothing new by stamps, and what stood before stands.
	Short bool `json:"short,omitempty"`
	// Fresh says why every wait began again, "" where none did.
	Fresh string `json:"fresh,omitempty"`
}

// StateSchema names the shape of State and of NotRunning.
const StateSchema = "winnow.state/v1"

// State is what winnow status prints as JSON: how the daemon stands, and what its latest sweep says in short.
type State struct {
	Schema  string `json:"schema" jsonschema:"enum=winnow.state/v1"`
	Version string `json:"version"`
	Status
	// StateFolder is where it keeps what it remembers.
	StateFolder string           `json:"state"`
	Policy      report.PolicyRef `json:"policy"`
	// Alarms are those of the latest sweep.
	Alarms []report.Alarm `json:"alarms"`
	// NotRead are the sources that it could not read.
	NotRead []string `json:"not_read"`
}

// NotRunning is what winnow status prints as JSON where no daemon answers.
type NotRunning struct {
	Schema  string `json:"schema"`
	Running bool   `json:"running"`
	// State is the state folder; Process is the daemon that has it and does not answer, absent when it is missing.
	State   string `json:"state"`
	Process int    `json:"pid,omitempty"`
}
