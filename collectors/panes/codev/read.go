package codev

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/winnow-reaper/winnow/collectors"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/sys/tower"
)

// reader reads one state folder.
type reader struct {
	Options
	name, home, base string
	// others are the other state folders of this user, whose shellpers may use the same folder for their sockets.
	others []string
}

func newReader(o Options, name, home, base string, every []string) *reader {
	o.ProcRoot = cmp.Or(o.ProcRoot, "/proc")
	o.Timeout = cmp.Or(max(o.Timeout, 0), defaultTimeout)
	o.Log = cmp.Or(o.Log, hclog.NewNullLogger())
	others := slices.DeleteFunc(slices.Clone(every), func(h string) bool { return tower.Resolved(h) == tower.Resolved(home) })
	return &reader{Options: o, name: name, home: home, base: base, others: others}
}

// native is what Options.Only may be: an id of Codev's, or that of a shellper that neither Tower nor store knows.
var native = regexp.MustCompile(tower.ID.String() + `|^pid-[1-9][0-9]{0,9}$`)

// world is everything that one reading found, before it is joined.
type world struct {
	// running are this user's shellpers as they were before anything else was read: what is in the store or in the Tower's list since then
	// is known there.
	running []*tower.Process
	*tower.Records
	// stored says that there is a store; entries are what the Tower lists, and answered whether it gave a list.
	stored   bool
	entries  []tower.Entry
	answered bool
	husks    []int
	server   *snapshot.Server
}

// Read gives the terminals of the state folder: those of the store's rows, those of the Tower's list, and shellpers of its sockets'
// folder that neither has. Where the store or the Tower could not be read, what the other one and /proc say is still given, and what
// only the missing one knows is absent.
//
// It wraps collectors.ErrAbsent only when there is neither a Tower nor anything that a Tower left behind, collectors.ErrPermission when
// something may not be read, and the context's error when it was not done in time.
func (r *reader) Read(ctx context.Context) (collectors.Part, error) {
	for _, id := range r.Only {
		if !native.MatchString(id) {
			return collectors.Part{}, fmt.Errorf("read terminal %.40q: not an id of Codev's; nothing was asked", id)
		}
	}
	w, err := r.gather(ctx)
	j := newJoin(r, w)
	terminals := j.terminals(ctx)
	part := collectors.Part{Terminals: map[string]snapshot.Terminal{}, Workspaces: j.workspaces(), Server: w.server, Named: j.workFolders(), Unreadable: w.Bad, Partial: err != nil}
	for _, t := range terminals {
		if *t.Error != "" {
			part.Unreadable++
		}
		if len(r.Only) == 0 || slices.Contains(r.Only, t.ID) {
			part.Terminals[ID(r.name, t.ID)] = *t
		}
	}
	r.Log.Debug("codev state folder read", "source", r.name, "terminals", len(terminals), "rows", len(w.Sessions), "listed", len(w.entries))
	switch {
	case err == nil:
		return part, nil
	case onlyDown(err) && len(terminals) == 0 && len(r.Only) == 0:
		return collectors.Part{}, fmt.Errorf("read %s: no Tower runs at %s, and no terminal of one is left: %w", r.home, r.base, collectors.ErrAbsent)
	}
	return part, fmt.Errorf("read %s: %w", r.home, err)
}

// gather reads /proc, then the store, then the Tower.
func (r *reader) gather(ctx context.Context) (*world, error) {
	w := &world{Records: &tower.Records{}, server: &snapshot.Server{Socket: r.base}}
	var errs [3]error
	w.running, errs[0] = tower.Shellpers(ctx, r.ProcRoot)
	path := filepath.Join(r.home, tower.StoreFile)
	w.Records, errs[1] = tower.ReadRecords(ctx, path)
	w.stored = !errors.Is(errs[1], collectors.ErrAbsent)
	errs[2] = r.ask(ctx, w)
	if !w.stored {
		errs[1] = errNoStore{path, w.answered}
		if _, err := os.Stat(r.home); err != nil {
			errs[1] = fmt.Errorf("the folder cannot be looked into: %w; see where it went", err)
		}
	}
	if failed := slices.DeleteFunc(errs[:], func(err error) bool { return err == nil }); len(failed) > 0 {
		return w, several(failed)
	}
	return w, nil
}

// errNoStore says that there is no store in the folder: no failure where there is no Tower either.
type errNoStore struct {
	path     string
	answered bool
}

func (e errNoStore) Error() string {
	if e.answered {
		return fmt.Sprintf("there is no %s, although a Tower answers; name the folder of that Tower in collect.codev.homes", e.path)
	}
	return fmt.Sprintf("there is no %s; start the Tower once", e.path)
}

// several are failures of one reading. Its text begins with the first.
type several []error

func (s several) Error() string {
	text := s[0].Error()
	for _, err := range s[1:] {
		text += "; and: " + err.Error()
	}
	return text
}

func (s several) Unwrap() []error { return s }

// onlyDown reports whether nothing failed but that there is no Tower, and maybe no store.
func onlyDown(err error) bool {
	var all several
	if !errors.As(err, &all) {
		return false
	}
	down := false
	for _, err := range all {
		var none errNoStore
		down = down || errors.Is(err, tower.ErrDown)
		if !errors.Is(err, tower.ErrDown) && !errors.As(err, &none) {
			return false
		}
	}
	return down
}

// ask asks the Tower what it lists, and stops at the first answer that is missing.
func (r *reader) ask(ctx context.Context, w *world) error {
	key, own, badKey := tower.Key(r.home, r.Env.Get("CODEV_TOWER_KEY"))
	t := tower.New(r.base, key, r.Timeout)
	version, err := t.Version(ctx)
	if err != nil {
		return err
	}
	w.server.Version = version
	if badKey != nil {
		return badKey
	}
	entries, err := t.Terminals(ctx)
	if err != nil {
		return err
	}
	if !own && stranger(entries, w.Sessions) {
		return fmt.Errorf("ask the Tower at %s: it lists none of the terminals that %s records; the key in CODEV_TOWER_KEY may be another Tower's:"+
			" name that folder's Tower in collect.codev.tower", r.base, r.home)
	}
	if lost := r.living(w); len(entries) == 0 && len(lost) > 0 {
		return fmt.Errorf("ask the Tower at %s: it lists no terminal, although %s records %s whose processes live, such as pid %d. It may be starting, or have lost them: see afx status,"+
			" and restart the Tower if this stays", r.base, filepath.Join(r.home, tower.StoreFile), counted(len(lost)), lost[0])
	}
	w.entries, w.answered = entries, true
	w.husks, err = t.Husks(ctx)
	return err
}

// living are the pids of shellpers that rows of the store mean, and that live now. A Tower that has none of them in its list has not read its own store.
func (r *reader) living(w *world) (pids []int) {
	for _, p := range w.running {
		if !slices.ContainsFunc(w.Sessions, func(s tower.Session) bool { return s.Means(p) }) {
			continue
		}
		if now, err := tower.Look(r.ProcRoot, p.PID); err == nil && now.Ticks == p.Ticks { // the Tower may just have closed it
			pids = append(pids, p.PID)
		}
	}
	return pids
}

func counted(n int) string {
	if n == 1 {
		return "a terminal"
	}
	return fmt.Sprintf("%d terminals", n)
}

// stranger reports whether the Tower has terminals and the store has others only.
func stranger(entries []tower.Entry, rows []tower.Session) bool {
	listed := map[string]bool{}
	for _, e := range entries {
		listed[e.ID] = true
	}
	return len(entries) > 0 && len(rows) > 0 && !slices.ContainsFunc(rows, func(s tower.Session) bool { return listed[s.ID] })
}

// sharers are the folders in which the sockets of this user's other state folders lie, and those sockets. known is false where one of
// those could not be read.
func (r *reader) sharers(ctx context.Context) (folders, sockets map[string]bool, known bool) {
	folders, sockets, known = map[string]bool{}, map[string]bool{}, true
	for _, home := range r.others {
		rows, err := tower.Sockets(ctx, filepath.Join(home, tower.StoreFile))
		known = known && (err == nil || errors.Is(err, collectors.ErrAbsent))
		for _, path := range rows {
			folders[tower.Resolved(filepath.Dir(path))], sockets[path] = true, true
		}
	}
	return folders, sockets, known
}

// Owners gives what is to be remembered after a look at everything: which terminal belongs to which builder, as far as this look or an
// earlier one knew. It changes neither s nor prev. It is asked for before anything is done on the look, for closing one terminal of a
// builder takes away what says whose the others are.
//
// What is remembered stays until it is positively otherwise: the terminal is another builder's, an architect's or a shell; or it is
// neither in the Tower's list nor in the store, both of which were read whole, and its process has ended. A list of nothing is no such
// list. What no look sees any more, neither itself nor its process, is remembered for span. A look that was narrowed to some candidates
// knows nothing of the others and must not be remembered.
func Owners(s *snapshot.Snapshot, prev []snapshot.Owner, span time.Duration) []snapshot.Owner {
	w := watch{Snapshot: s, at: s.TakenAt.Round(0).UTC(), listing: map[string]bool{}}
	now := map[[2]string]snapshot.Owner{}
	for _, t := range s.Terminals {
		w.listing[t.Source] = w.listing[t.Source] || t.Listed != nil && *t.Listed
		if o, ok := w.owner(&t); ok {
			now[[2]string{t.Source, t.ID}] = o
		}
	}
	for _, p := range prev {
		where := [2]string{p.Source, p.Terminal}
		o, found := now[where]
		switch {
		case !found:
			if w.keeps(&p, span) {
				now[where] = p
			}
		case o.Builder == p.Builder && o.Workspace == p.Workspace:
			now[where] = both(p, o)
		}
	}
	return slices.SortedFunc(maps.Values(now), func(a, b snapshot.Owner) int {
		return cmp.Or(cmp.Compare(a.Source, b.Source), cmp.Compare(a.Terminal, b.Terminal))
	})
}

// watch is a look at everything; listing are the sources whose Tower listed anything.
type watch struct {
	*snapshot.Snapshot
	at      time.Time
	listing map[string]bool
}

// owner is what this look knows of a terminal's owner. A source that was not read whole tells nothing, and a process has no id to remember.
func (w *watch) owner(t *snapshot.Terminal) (snapshot.Owner, bool) {
	o := t.Owner
	if w.Sources[t.Source].Status != snapshot.OK || o == nil || o.Recorded == nil || t.Workspace == "" || !tower.ID.MatchString(t.ID) {
		return snapshot.Owner{}, false
	}
	if !*o.Recorded && o.Worktree == "" {
		return snapshot.Owner{}, false
	}
	out := snapshot.Owner{Source: t.Source, Terminal: t.ID, Workspace: t.Workspace, Builder: o.ID, Worktree: o.Worktree, Kind: t.RoleKind,
		FirstAt: w.at, LastAt: w.at}
	if *o.Recorded {
		out.RowAt = &w.at
	}
	if t.PID != nil && t.StartTicks != nil && w.Host.BootID != "" {
		out.BootID, out.PID, out.StartTicks = w.Host.BootID, *t.PID, *t.StartTicks
	}
	return out, true
}

// both is what an earlier look and this one know of the same owner.
func both(p, o snapshot.Owner) snapshot.Owner {
	o.FirstAt, o.LastAt = slices.MinFunc([]time.Time{p.FirstAt, o.FirstAt}, time.Time.Compare), later(p.LastAt, o.LastAt)
	o.RowAt = cmp.Or(o.RowAt, p.RowAt)
	o.Worktree = cmp.Or(o.Worktree, p.Worktree)
	if o.PID == 0 {
		o.BootID, o.PID, o.StartTicks = p.BootID, p.PID, p.StartTicks
	}
	return o
}

// keeps reports whether what is remembered of a terminal stays although this look does not know its owner, and notes that it is still there.
func (w *watch) keeps(p *snapshot.Owner, span time.Duration) bool {
	t, seen := w.Terminals[ID(p.Source, p.Terminal)]
	_, runs := w.Processes[snapshot.ProcessID(p.PID, p.StartTicks)]
	runs = runs && p.PID > 0 && p.BootID == w.Host.BootID
	ended := !runs && p.PID > 0 && p.BootID != "" && w.Host.BootID != "" && w.Sources[snapshot.Proc].Status == snapshot.OK
	whole := w.Sources[p.Source].Status == snapshot.OK
	switch {
	case whole && seen && (t.RoleKind == tower.KindArchitect || t.RoleKind == tower.KindShell):
		return false
	case whole && seen && t.Owner != nil && (tower.RoleKey(t.Owner.ID) != tower.RoleKey(p.Builder) || t.Workspace != "" && t.Workspace != p.Workspace):
		return false
	case seen || runs:
		p.LastAt = later(p.LastAt, w.at)
		return true
	case whole && w.listing[p.Source] && ended:
		return false
	}
	return w.at.Sub(p.LastAt) <= span
}

func later(a, b time.Time) time.Time { return slices.MaxFunc([]time.Time{a, b}, time.Time.Compare) }
