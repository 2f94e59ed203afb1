package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	actdirs "github.com/winnow-reaper/winnow/actuators/dirs"
	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/ledger"
	"github.com/winnow-reaper/winnow/internal/sources"
	"github.com/winnow-reaper/winnow/internal/text"
)

// kept lists what can be brought back: what the ledger says, and what it does not know and the manifests in the trash do. An error
// says that the ledger could not be read; what the manifests say is then the answer.
func (a *machineCore) kept(ctx context.Context) ([]ledger.Act, error) {
	r, err := a.trashOnRecord(ctx)
	return append(r.kept, untold(a.asides(ctx, a.trashRoots(nil, r.roots), r.known))...), err
}

// onRecord is what a ledger knows of the trash.
type onRecord struct {
	// kept are the acts that can be brought back, roots the folders below which acts were begun.
	kept  []ledger.Act
	roots []string
	// known are the acts whose manifests need not be read: those that can be brought back, and those that were cut short, which are for the next sweep to settle.
	known map[string]bool
}

func trashOnRecord(ctx context.Context, l *ledger.Ledger) (r onRecord, err error) {
	unsettled, err := l.Unsettled(ctx) // first: an act that is settled in between is then in both
	if err != nil {
		return onRecord{}, err
	}
	if r.kept, err = l.Restorable(ctx); err != nil {
		return onRecord{}, err
	}
	if r.roots, err = l.Roots(ctx); err != nil {
		return onRecord{}, err
	}
	r.known = map[string]bool{}
	for _, act := range r.kept {
		r.known[act.Intent.ID] = true
	}
	for _, in := range unsettled {
		r.known[in.ID] = true
	}
	return r, nil
}

// trashOnRecord is what the ledger knows of the trash, nothing where it cannot be read.
func (a *machineCore) trashOnRecord(ctx context.Context) (r onRecord, err error) {
	err = a.ReadLedger(func(l *ledger.Ledger) (err error) {
		r, err = trashOnRecord(ctx, l)
		return err
	})
	return r, err
}

// untold are acts that only a manifest tells of, but for those that cannot be brought back any more.
func untold(asides []actdirs.Aside) []ledger.Act {
	var out []ledger.Act
	for _, x := range asides {
		if !x.Half {
			out = append(out, ledger.Act{Intent: x.Intent})
		}
	}
	return out
}

// asides reads the manifests in every trash that this user may have, and says which of them were passed over.
func (a *machineCore) asides(ctx context.Context, roots []string, known map[string]bool) []actdirs.Aside {
	found, wrong := a.asidesOf(ctx, roots, known)
	for _, err := range wrong {
		a.Note("passed over in the trash: %v", err)
	}
	return found
}

func (a *machineCore) asidesOf(ctx context.Context, roots []string, known map[string]bool) ([]actdirs.Aside, []error) {
	dirs, ok := a.actuators(snapshot.Host{}, roots)[snapshot.KindDir].(*actdirs.Actuator)
	if !ok {
		return nil, nil
	}
	return dirs.Asides(ctx, known)
}

// trashRoots are the folders in which there may be a trash: the roots and repositories that the configuration and the place where the
// command runs lead to, those that a look found, and those that are on record. A worktree's root is the folder that it lies in.
func (a *machineCore) trashRoots(s *snapshot.Snapshot, recorded []string) []string {
	roots := map[string]bool{}
	add := func(path string) {
		if real, err := filepath.EvalSymlinks(path); err == nil && filepath.IsAbs(real) {
			roots[real] = true
		}
	}
	around := func(path string) {
		for _, at := range []string{path, filepath.Dir(path)} {
			add(at)
			for _, name := range a.Cfg.Rules.WorktreeFolders {
				add(filepath.Join(at, name))
			}
		}
		entries, err := filepath.Glob(filepath.Join(path, ".git", "worktrees", "*", "gitdir"))
		if err != nil { // a path that is a bad pattern names no entries
			entries = nil
		}
		for _, entry := range entries {
			if text, err := os.ReadFile(entry); err == nil {
				add(filepath.Dir(filepath.Dir(strings.TrimSpace(string(text)))))
			}
		}
	}
	for _, src := range a.Sources().Dirs(sources.Scope{}) {
		around(src.Path)
	}
	if s != nil {
		for _, root := range rootsOf(s) {
			add(root)
		}
	}
	for _, root := range recorded {
		add(root)
	}
	var out []string
	for root := range roots {
		out = append(out, root)
	}
	slices.Sort(out)
	return out
}

// openTrash opens the ledger and lists what can be brought back, once the ledger has taken in what it did not know. lost is why there
// is no ledger.
func (s *sweeper) openTrash(ctx context.Context) (kept []ledger.Act, lost error) {
	l, err := ledger.Open(s.LedgerPath())
	if err == nil {
		if _, err = l.Restorable(ctx); err != nil {
			_ = l.Close()
		}
	}
	if err != nil {
		return untold(s.asides(ctx, s.trashRoots(nil, nil), nil)), fmt.Errorf("read ledger: %w", err)
	}
	s.ledger = l
	if _, err := s.adopt(ctx, nil); err != nil {
		s.Note("%v", err)
	}
	kept, err = l.Restorable(ctx)
	return kept, err
}

// adopt writes what lies in the trash and is not on record into the ledger, and says how many acts that were.
func (s *sweeper) adopt(ctx context.Context, snap *snapshot.Snapshot) (int, error) {
	r, err := trashOnRecord(ctx, s.ledger)
	if err != nil {
		return 0, fmt.Errorf("read ledger: %w", err)
	}
	n := 0
	for _, x := range s.asides(ctx, s.trashRoots(snap, r.roots), r.known) {
		until := x.Intent.RestoreUntil
		if until.IsZero() {
			until = x.Intent.At.Add(s.Cfg.Act.TrashTTL)
		}
		added, err := s.ledger.Adopt(ctx, x.Intent, decision.Outcome{Outcome: decision.Done, RestoreUntil: &until,
			Detail: "by the manifest in the trash: the ledger did not know of it"})
		if err != nil {
			return n, fmt.Errorf("write down what lies in the trash: %w", err)
		}
		if added {
			n++
		}
	}
	if n > 0 {
		s.Note("%s in the trash that the ledger did not know, or held for gone; they are kept for act.trash_ttl from now on", text.Plural(n, "folder"))
	}
	return n, nil
}

// checkTrash says what lies in the trash, and whether the ledger knows of it.
func (a *core) checkTrash(ctx context.Context, s *snapshot.Snapshot) []Check {
	var out []Check
	if ttl := a.Cfg.Act.TrashTTL; ttl <= 0 {
		out = append(out, Check{"state", "act.trash_ttl", limited, fmt.Sprintf("is %s: what a sweep sets aside goes for good at its end, and nothing can be brought back", ttl)})
	}
	r, err := a.trashOnRecord(ctx)
	if err != nil {
		r = onRecord{} // another check reports what is wrong with it
	}
	asides, wrong := a.asidesOf(ctx, a.trashRoots(s, r.roots), r.known)
	c := Check{"state", "trash", healthy, fmt.Sprintf("%s can be brought back", text.Plural(len(r.kept), "act"))}
	if more := len(untold(asides)); more > 0 {
		c.Status = limited
		c.Detail += fmt.Sprintf("; %s more that the ledger does not know: winnow trash lists them, and the next sweep --apply takes them in", text.Plural(more, "folder"))
	}
	out = append(out, c)
	for _, err := range wrong {
		out = append(out, Check{"state", "trash", limited, err.Error()})
	}
	return out
}
