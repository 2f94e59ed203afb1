package codev

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"

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
	return w, joined(errs[:]...)
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

func joined(errs ...error) error {
	errs = slices.DeleteFunc(errs, func(err error) bool { return err == nil })
	if len(errs) == 0 {
		return nil
	}
	return several(errs)
}

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
		return fmt.Errorf("ask the Tower at %s: it lists none of the terminals that %s records, and the key in CODEV_TOWER_KEY does not say which Tower it belongs to;"+
			" name the Tower of that folder in collect.codev.tower", r.base, r.home)
	}
	if lost := r.living(w); len(entries) == 0 && len(lost) > 0 {
		return fmt.Errorf("ask the Tower at %s: it lists no terminal, although %s records %s whose processes live, such as pid %d; it may be starting, or have lost them: see what afx status says,"+
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
