package main

import (
	"slices"
	"time"

	"winnow/engine/decision"
	"winnow/engine/eval"
	"winnow/engine/policy"
	"winnow/engine/snapshot"
)

// reportSchema names the report's shape.
const reportSchema = "winnow.report/v1"

// The modes of a report.
const (
	modeDryRun = "dry-run"
	modeApply  = "apply"
	modeDecide = "decide"
	// modeCleanup is in the ledger only: a cleanup prints no report.
	modeCleanup = "cleanup"
)

// Report is what a sweep or a decide says. docs/schemas/report.json is generated from it.
type Report struct {
	Schema  string    `json:"schema" jsonschema:"enum=winnow.report/v1"`
	Sweep   string    `json:"sweep,omitempty"`
	TakenAt time.Time `json:"taken_at"`
	Mode    string    `json:"mode" jsonschema:"enum=dry-run,enum=apply,enum=decide"`
	Policy  PolicyRef `json:"policy"`
	// Config says which files ruled.
	Config ConfigRef `json:"config"`
	// Sources are as in the snapshot.
	Sources map[string]snapshot.Source `json:"sources"`
	// Census counts by kind of candidate.
	Census map[string]Count `json:"census"`
	// Decisions holds every candidate in scope, sorted by id.
	Decisions []decision.Decision `json:"decisions"`
	// Veil is a process that may be an agent and does not show it: while it lives, no process that began after it is an orphan.
	Veil *snapshot.PaneProc `json:"veil,omitempty"`
	Acts []decision.Act     `json:"acts"`
	// Settled are acts of an earlier sweep that was cut short, with how they went in the end.
	Settled []decision.Act `json:"settled,omitempty"`
	// Purged is what was kept for its time in the trash and is now gone for good.
	Purged []Purged `json:"purged,omitempty"`
	// Workers are the observations on what registries record, where sessions are reported on.
	Workers []snapshot.Worker `json:"workers"`
	Alarms  []Alarm           `json:"alarms"`
}

// PolicyRef says which policies decided: the manifest's revision, and a digest over what was really loaded.
type PolicyRef struct {
	Revision string `json:"revision"`
	Digest   string `json:"digest"`
}

// ConfigRef names the files that ruled besides the program's own defaults: the configuration, and the file of each project that was
// trusted.
type ConfigRef struct {
	Files []string `json:"files"`
	// Projects are the repositories that bring a file of their own, whether it rules or not.
	Projects []ProjectRef `json:"projects,omitempty"`
}

// ProjectRef says how a project's own file stands: trusted, changed, gone, refused, untrusted. In all but the last one what was trusted
// rules.
type ProjectRef struct {
	Path   string `json:"path"`
	File   string `json:"file"`
	State  string `json:"state" jsonschema:"enum=trusted,enum=changed,enum=gone,enum=refused,enum=untrusted"`
	Why    string `json:"why,omitempty"`
	SHA256 string `json:"sha256,omitempty"`
}

// Count is the census of one kind. Unknown counts those of Spare that were kept because something could not be read.
type Count struct {
	Seen    int `json:"seen"`
	InScope int `json:"in_scope"`
	Reap    int `json:"reap"`
	Spare   int `json:"spare"`
	Unknown int `json:"unknown"`
}

// Alarm is something that a person should look at, although every single decision was in order.
type Alarm struct {
	Rule    string `json:"rule"`
	Message string `json:"message"`
}

// Purged is one act's set-aside things, removed.
type Purged struct {
	Act       string `json:"act"`
	Candidate string `json:"candidate"`
	Bytes     int64  `json:"bytes"`
}

// newReport gathers a decided snapshot.
func (a *app) newReport(mode, sweep string, s *snapshot.Snapshot, p *policy.Policy, res eval.Result, kinds []string) *Report {
	r := &Report{
		Schema: reportSchema, Sweep: sweep, TakenAt: s.TakenAt, Mode: mode,
		Policy:    PolicyRef{Revision: p.Revision, Digest: p.Digest},
		Config:    a.ruled(s),
		Sources:   s.Sources,
		Census:    map[string]Count{},
		Decisions: []decision.Decision{}, Acts: []decision.Act{}, Alarms: []Alarm{}, Workers: []snapshot.Worker{},
	}
	if slices.Contains(kinds, snapshot.KindProcess) {
		r.Veil = res.Veil
	}
	if slices.Contains(kinds, snapshot.KindSession) {
		r.Workers = append(r.Workers, s.Workers...)
	}
	for _, kind := range kinds {
		if n := res.Seen[kind]; n > 0 {
			r.Census[kind] = Count{Seen: n}
		}
	}
	for _, d := range res.Decisions {
		c, ok := r.Census[d.Kind]
		if !ok {
			continue
		}
		c.InScope++
		if d.Verdict == decision.Reap {
			c.Reap++
		} else {
			c.Spare++
		}
		if d.Unknown() {
			c.Unknown++
		}
		r.Census[d.Kind] = c
		r.Decisions = append(r.Decisions, d)
	}
	for _, e := range res.Errors {
		r.Alarms = append(r.Alarms, Alarm{Rule: decision.PolicyError, Message: e.ID + ": " + e.Err.Error() + "; it was kept"})
	}
	return r
}

// ruled names the files that ruled.
func (a *app) ruled(s *snapshot.Snapshot) ConfigRef {
	ref := ConfigRef{Files: []string{}}
	if a.cfg.File != "" {
		ref.Files = append(ref.Files, a.cfg.File)
	}
	for _, p := range s.Projects {
		ref.Projects = append(ref.Projects, ProjectRef{Path: p.Path, File: p.File, State: p.State, Why: p.Why, SHA256: p.SHA256})
		if p.State != snapshot.ProjectUntrusted {
			ref.Files = append(ref.Files, p.File)
		}
	}
	return ref
}

// code is the exit code that the report means.
func (r *Report) code(exitCode bool) int {
	part, reap := false, false
	for _, a := range r.Settled {
		part = part || a.Open
	}
	for _, a := range r.Acts {
		switch a.Outcome.Outcome {
		case decision.Capped:
			return exitCapped
		case decision.Failed, decision.Refused:
			part = true
		}
	}
	for _, s := range r.Sources {
		part = part || s.Status == snapshot.Failed
	}
	for _, d := range r.Decisions {
		reap = reap || d.Verdict == decision.Reap
	}
	for _, a := range r.Alarms {
		part = part || a.Rule == decision.PolicyError
	}
	switch {
	case part:
		return exitPart
	case exitCode && reap && r.Mode != modeApply:
		return exitReap
	}
	return exitDone
}
