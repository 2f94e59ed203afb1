package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/ledger/lock"
	"github.com/winnow-reaper/winnow/internal/sys/safeopen"
)

// Grants is the one order between what is granted and what is done, for every winnow of a user, with any state folder. A hold or a lease is placed in one transaction
// of its file, and an act begins in one: of the two one comes first, and the other sees it. So what is granted is never taken, and what is being taken is not granted.
// The leases lie in the file too, since they count for every state folder.
//
// An act that was begun counts as long as the process that began it lives, by a lock that the kernel releases.
type Grants struct {
	l *Ledger
	// line gives a process, by its id as a candidate, and all above it; empty where it has ended.
	line func(id string) ([]int, error)
	// unlock is set once this process has begun an act.
	unlock func() error
}

// grantsName is the file of the order, and of the leases; grantsLock the one that a process has locked which has begun acts.
const grantsName, grantsLock = "grants.db", "grants.lock"

const (
	// takenFor is how long what was taken is remembered: who asks for it just then hears that it was too late.
	takenFor = time.Minute
	// recent is how old a hold on a process may be for the processes above it to be asked for: the last judgement saw those of earlier ones.
	recent = 5 * time.Minute
)

// OpenGrants opens the order of this user's grants and acts, for who grants or acts. line gives a process, by its id as a candidate, and all above it; none where it has ended.
func OpenGrants(a lock.Acting, state string, line func(id string) ([]int, error)) (*Grants, error) {
	dir := a.SharedFolder(state)
	if err := safeopen.MakeTrusted(dir); err != nil {
		return nil, fmt.Errorf("open the leases: the folder %s: %w", dir, err)
	}
	l, err := open(filepath.Join(dir, grantsName), grantsSchema, "NORMAL") // a lease outlives no reboot
	if err != nil {
		return nil, err
	}
	return &Grants{l: l, line: line}, nil
}

// Leases gives the leases of every winnow of this user, lapsed ones among them. It makes nothing.
func Leases(ctx context.Context, a lock.Acting, state string) ([]snapshot.Hold, error) {
	var all []snapshot.Hold
	dirs := []string{a.SharedFolder(state), a.Folder(), state} // where they were placed before the home came, or could be trusted
	slices.Sort(dirs)
	for _, dir := range slices.Compact(dirs) {
		if dir == "" {
			continue
		}
		l, err := openReadOnly(filepath.Join(dir, grantsName), grantsSchema)
		if errors.Is(err, ErrNone) {
			continue
		}
		var holds []snapshot.Hold
		if err == nil {
			holds, err = l.Holds(ctx)
			err = errors.Join(err, l.Close())
		}
		if err != nil {
			return nil, fmt.Errorf("read the leases: %w", err)
		}
		all = append(all, holds...)
	}
	return all, nil
}

// Close ends the use of the order. What this process has begun and not ended counts no longer.
func (g *Grants) Close() error {
	err := g.l.Close()
	if g.unlock != nil {
		err = errors.Join(err, g.unlock())
	}
	return err
}

// Begun says that an act has begun that takes what was asked for, or, without an Act, that the process asked for has ended.
type Begun struct {
	Act, Candidate string
	// Over is true where the act has ended.
	Over bool
}

func (b *Begun) Error() string {
	if b.Act == "" {
		return fmt.Sprintf("it came too late: %s has ended", b.Candidate)
	}
	if b.Over {
		return fmt.Sprintf("it came too late: act %s has just taken %s", b.Act, b.Candidate)
	}
	return fmt.Sprintf("it came too late: act %s on %s has begun", b.Act, b.Candidate)
}

// Place places a hold on a candidate by place, unless an act has begun that takes it: then the error is a *Begun. No act begins meanwhile.
func (g *Grants) Place(ctx context.Context, id string, place func() error) error {
	return g.grant(ctx, id, func(*sql.Tx) error { return place() })
}

// Lease places the hold of a lease, as Place does.
func (g *Grants) Lease(ctx context.Context, h snapshot.Hold) error {
	return g.grant(ctx, h.ID, func(tx *sql.Tx) error { return hold(ctx, tx, h) })
}

func (g *Grants) grant(ctx context.Context, id string, place func(*sql.Tx) error) error {
	var own error // is no error of the file's
	err := g.l.write(ctx, func(tx *sql.Tx) error {
		b, err := g.begun(ctx, tx, id)
		switch {
		case err != nil:
			return err
		case b != nil:
			own = b
		case g.ended(id): // an act on something else may have taken it along
			own = &Begun{Candidate: id, Over: true}
		default:
			own = place(tx)
		}
		return own
	})
	if own != nil {
		return own
	}
	return g.l.explain("place a hold by", err)
}

// begun is the act that takes a candidate, nil when it is missing. What a process began that has ended since is for the next sweep to settle.
func (g *Grants) begun(ctx context.Context, tx *sql.Tx, id string) (*Begun, error) {
	alive, err := g.acting()
	if err != nil {
		return nil, err
	}
	var found *Begun
	err = takenTable.eachRow(ctx, tx, func(_ string, a grantedAct) {
		over := !a.ended.IsZero()
		switch {
		case found != nil && !found.Over, !over && !alive, over && time.Since(a.ended) > takenFor:
		case a.Holds(id, time.Now(), g.line) && !(over && g.isThere(id)), g.went(a.Taken, id):
			found = &Begun{Act: a.id, Candidate: a.Candidate, Over: over}
		}
	}, "")
	return found, err
}

// isThere reports whether what was asked for is positively there: it is another thing than one that was taken, or what was taken lay in it.
func (g *Grants) isThere(id string) bool {
	if path, ok := strings.CutPrefix(id, snapshot.KindDir+":"); ok {
		_, err := os.Lstat(path)
		return err == nil
	}
	if !strings.HasPrefix(id, snapshot.KindProcess+":") {
		return false
	}
	line, err := g.line(id)
	return err == nil && len(line) > 0
}

// ended reports whether what was asked for is a process that has positively ended.
func (g *Grants) ended(id string) bool {
	line, err := g.line(id)
	return err == nil && len(line) == 0 && strings.HasPrefix(id, snapshot.KindProcess+":")
}

// went reports whether a process ended with what was taken. It has no processes above it any more.
func (g *Grants) went(t Taken, id string) bool {
	pid, ok := pidOf(id)
	return ok && slices.Contains(t.PIDs, pid) && !g.isThere(id)
}

// acting reports whether a process has begun acts and lives.
func (g *Grants) acting() (bool, error) {
	alive, err := lock.IsHeld(g.lockPath())
	if err != nil {
		return false, fmt.Errorf("look for an act that has begun: %w", err)
	}
	return alive, nil
}

func (g *Grants) lockPath() string { return filepath.Join(filepath.Dir(g.l.path), grantsLock) }

// Begin writes down that an act begins, unless something of what it takes is held: then it gives that hold, and the act must not begin. holds gives what is held beside the leases; nil asks for
// neither. Nothing is granted meanwhile.
func (g *Grants) Begin(ctx context.Context, act string, t Taken, holds func(context.Context) ([]snapshot.Hold, error)) (held *snapshot.Hold, err error) {
	err = g.l.write(ctx, func(tx *sql.Tx) error {
		if err := g.begins(ctx, tx); err != nil {
			return err
		}
		if holds != nil {
			all, err := holds(ctx)
			if err == nil {
				err = holdsTable.eachRow(ctx, tx, func(_ string, h snapshot.Hold) { all = append(all, h) }, "")
			}
			if held = g.keeps(t, all); err != nil || held != nil {
				return err
			}
		}
		text, err := encode(t)
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, "INSERT OR REPLACE INTO acts (id, taken) VALUES (?, ?)", act, text)
		return err
	})
	return held, g.l.explain("begin an act by", err)
}

// keeps is the first hold that has not lapsed and keeps what is taken.
func (g *Grants) keeps(t Taken, all []snapshot.Hold) *snapshot.Hold {
	now := time.Now()
	for _, h := range all {
		if (h.Until == nil || h.Until.After(now)) && t.Holds(h.ID, h.Since, g.line) {
			return &h
		}
	}
	return nil
}

// begins locks the file that says that this process acts, once, and forgets what others had begun before: they have ended.
func (g *Grants) begins(ctx context.Context, tx *sql.Tx) error {
	if g.unlock == nil {
		unlock, err := lock.Take(g.lockPath())
		if err != nil {
			return err
		}
		g.unlock = unlock
		if _, err := tx.ExecContext(ctx, "DELETE FROM acts WHERE ended IS NULL"); err != nil {
			return err
		}
	}
	_, err := tx.ExecContext(ctx, "DELETE FROM acts WHERE ended < ?", time.Now().Add(-takenFor).UnixNano())
	return err
}

// End says that an act has ended, and whether it took what it was about.
func (g *Grants) End(ctx context.Context, act string, taken bool) error {
	query, args := "DELETE FROM acts WHERE id = ?", []any{act}
	if taken {
		query, args = "UPDATE acts SET ended = ? WHERE id = ?", []any{time.Now().UnixNano(), act}
	}
	_, err := g.l.db.ExecContext(ctx, query, args...)
	return g.l.explain("end an act in", err)
}

// Leases gives the leases, lapsed ones among them.
func (g *Grants) Leases(ctx context.Context) ([]snapshot.Hold, error) { return g.l.Holds(ctx) }

// PutOff gives leases another end, as Ledger.PutOff does.
func (g *Grants) PutOff(ctx context.Context, leases []snapshot.Hold, until time.Time) ([]bool, error) {
	return g.l.PutOff(ctx, leases, until)
}

// Release lifts leases, as Ledger.Release does.
func (g *Grants) Release(ctx context.Context, id, owner string) (int, error) {
	return g.l.Release(ctx, id, owner)
}

// grantedAct is an act that was begun.
type grantedAct struct {
	id string
	Taken
	ended time.Time
}

var takenTable = table[string, grantedAct]{"acts", "id, taken, ended", func(_ *string, a *grantedAct) []any {
	return []any{&a.id, document{&a.Taken}, (*unixTime)(&a.ended)}
}}

// Taken is what an act takes: a candidate, and what goes with it.
type Taken struct {
	Candidate string `json:"candidate"`
	// Path is the folder that goes, with all that lies in it.
	Path string `json:"path,omitempty"`
	// PIDs are the processes that end, with those below them.
	PIDs []int `json:"pids,omitempty"`
}

// Takes is what an act by a decision takes.
func Takes(d decision.Decision) Taken {
	t := Taken{Candidate: d.ID}
	id := d.Identity
	inPanes := func(panes []decision.Pane) {
		for _, p := range panes {
			t.PIDs = append(append(t.PIDs, p.PID), p.Members...)
		}
	}
	if id.Dir != nil {
		t.Path = id.Dir.Path
	}
	if id.Process != nil {
		t.PIDs = append(t.PIDs, id.Process.PID)
	}
	if id.Session != nil {
		inPanes(id.Session.Panes)
	}
	if id.Tab != nil {
		inPanes(id.Tab.Panes)
	}
	if id.Editor != nil {
		t.PIDs = append(t.PIDs, id.Editor.PID)
	}
	if id.Terminal != nil && id.Terminal.Process != nil {
		t.PIDs = append(t.PIDs, id.Terminal.Process.PID)
	}
	for _, m := range id.Below {
		t.PIDs = append(t.PIDs, m.PID)
	}
	t.PIDs = slices.DeleteFunc(slices.Compact(slices.Sorted(slices.Values(t.PIDs))), func(pid int) bool { return pid == 0 })
	return t
}

// Holds reports whether a hold on a candidate, placed at since, keeps what is taken: as protect.held has it, a hold on the thing itself, on a folder that it lies in or that lies in it, and on a
// process that ends with it. A process whose line cannot be read may be one of those.
func (t Taken) Holds(id string, since time.Time, line func(id string) ([]int, error)) bool {
	if id == t.Candidate {
		return true
	}
	if path, ok := strings.CutPrefix(id, snapshot.KindDir+":"); ok && t.Path != "" {
		return lies(filepath.Clean(path), t.Path) || lies(t.Path, filepath.Clean(path))
	}
	pid, ok := pidOf(id)
	if !ok || len(t.PIDs) == 0 || time.Since(since) > recent && !slices.Contains(t.PIDs, pid) {
		return false
	}
	above, err := line(id)
	return err != nil || slices.ContainsFunc(above, func(pid int) bool { return slices.Contains(t.PIDs, pid) })
}

// lies reports whether a clean path is another one or lies in it.
func lies(path, in string) bool {
	rest, ok := strings.CutPrefix(path, strings.TrimSuffix(in, "/"))
	return ok && (rest == "" || rest[0] == '/')
}

// pidOf is the number in the id of a process.
func pidOf(id string) (int, bool) {
	rest, ok := strings.CutPrefix(id, snapshot.KindProcess+":")
	number, _, _ := strings.Cut(rest, "@")
	pid, err := strconv.Atoi(number)
	return pid, ok && err == nil
}
