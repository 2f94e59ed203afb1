// Package console is a web page for one person on this machine: what is here, what would go and why, acts, holds, trash, alarms and policies.
//
// It knows documents and asks a World for them; what is done is done by the World. Nothing here ends anything that lives: a page can hold, release, bring back, pause,
// resume, look, and remove for good what lies in the trash, which it asks about first.
package console

import (
	"context"
	"errors"
	"time"

	"github.com/winnow-reaper/winnow/client"
	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/document"
	"github.com/winnow-reaper/winnow/internal/ledger"
	"github.com/winnow-reaper/winnow/internal/report"
)

// World is what the console shows, and what it may have done. Its methods are called from several goroutines. A name is always a whole one: a World must refuse what is not
// exactly the id of a candidate, a hold or an act. What an act says is a sentence for a person, without markup.
type World interface {
	// Look gives the report of the latest look, which nobody writes to, nil before the first look has ended. problem says why a later look failed, "" where none did. It never waits.
	Look() (r *report.Report, problem string)
	// Stamp changes when a page may show something else. It never waits.
	Stamp() string
	// Explain says of a candidate of the latest look why it goes or stays.
	Explain(ctx context.Context, id string) (*Explanation, error)
	Holds(ctx context.Context) ([]snapshot.Hold, error)
	// Acts gives the sweeps and acts since a time, the latest first.
	Acts(ctx context.Context, since time.Time) (document.History, error)
	// Trash gives what can be brought back.
	Trash(ctx context.Context) ([]document.SetAside, error)
	Policies(ctx context.Context) (*Policies, error)
	// Paused gives the pause that holds now, nil when it is missing.
	Paused() *ledger.Pause
	// Daemon says how winnow run stood a moment ago, nil where none answers; known is false before it was asked. It never waits.
	Daemon() (stands *client.State, known bool)

	// Sweep looks and decides now, as winnow sweep does without --apply. What it saw is remembered.
	Sweep(ctx context.Context) (said string, err error)
	// Hold keeps a candidate; 0 is until it is released.
	Hold(ctx context.Context, id, reason string, long time.Duration) (said string, err error)
	Release(ctx context.Context, id string) (said string, err error)
	// Restore brings back what an act set aside.
	Restore(ctx context.Context, act string) (said string, err error)
	// Purge removes for good what acts set aside, by the rules of winnow trash empty.
	Purge(ctx context.Context, acts []string) (said string, err error)
	// Pause stops every act of this user; 0 is until Resume.
	Pause(ctx context.Context, long time.Duration, reason string) (said string, err error)
	Resume(ctx context.Context) (said string, err error)
}

// ErrNotFound says that a candidate or an act is not there, or not any more.
var ErrNotFound = errors.New("it is not there, or not any more")

// Explanation is why a candidate goes or stays.
type Explanation struct {
	document.Explanation
	Owner string
	About *decision.About
	// Users are the processes that use a folder, a sentence each.
	Users []string
}

// Policies are what decides.
type Policies struct {
	Revision, Digest string
	Bundles          []report.BundleRef
	Layers           []report.PolicyLayer
	Exceptions       []report.Exception
	// Rules are sorted by their id.
	Rules []Rule
}

// Rule is a rule with its level.
type Rule struct {
	ID, Title, Description, File string
	Line                         int
	// Levels are those of kinds for which it is not on: "off", or "off: process".
	Levels []string
}
