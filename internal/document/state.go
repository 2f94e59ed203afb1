// Package document has the documents that operations return and the local API carries: each survives JSON unchanged.
package document

import (
	"time"

	"github.com/winnow-reaper/winnow/collectors/wake"
	"github.com/winnow-reaper/winnow/internal/brakes"
	"github.com/winnow-reaper/winnow/internal/ledger/lock"
	"github.com/winnow-reaper/winnow/internal/report"
)

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
