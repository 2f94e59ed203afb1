// Package state is a state folder: the ledger, locks, holds and the pause in it, and who works with it.
package state

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"
	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/collectors/panes/tmux"
	"github.com/winnow-reaper/winnow/collectors/processes/host"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/ledger"
	"github.com/winnow-reaper/winnow/internal/ledger/lock"
	"github.com/winnow-reaper/winnow/internal/stop"
	"github.com/winnow-reaper/winnow/internal/sys/listen"
	"github.com/winnow-reaper/winnow/internal/sys/proc"
	"github.com/winnow-reaper/winnow/internal/sys/safeopen"
	"github.com/winnow-reaper/winnow/internal/text"
	"github.com/winnow-reaper/winnow/internal/version"
)

// Folder is the state folder of one configuration, and who works with it.
type Folder struct {
	Cfg         *config.Config
	Fingerprint string // of what decides: see ConfigFingerprint
	Log         hclog.Logger
	Hands       *stop.Inflight
	Acting      lock.Acting
	// Asker is who asks by the daemon's API, and from the folder that they are in; both are zero where a person runs the command.
	Asker       listen.Conn
	AskerFolder string
	// CommandLine is true where this very command line asks, and Asked is what about.
	CommandLine bool
	Asked       []string
	// Tell has a person read a line about what goes on; nil: they are dropped.
	Tell func(line string)
}

// Note tells a line for a person.
func (f *Folder) Note(format string, args ...any) {
	if f.Tell != nil {
		f.Tell("winnow: " + text.Clean(fmt.Sprintf(format, args...)))
	}
}

// CLIPID is the process of this very command line for which the daemon looks, 0 where it does so for itself or another program: the command counts no more than
// it would by itself. Any other program that asks counts as what it is, and so do those that it started.
func (f *Folder) CLIPID() int {
	if !f.CommandLine {
		return 0
	}
	return f.Asker.PID
}

// TrustState makes sure that no other user can change what lies in the state folder. Its content is trusted: which acts were begun,
// what may be brought back and from where, what is held.
func (f *Folder) TrustState() error {
	err := safeopen.Trusted(f.Cfg.State)
	if errors.Is(err, safeopen.ErrUntrusted) {
		return config.Usagef("state folder %s: %w. Nothing was read from it or done: take that right from others (chmod go-w, chown), or give a folder of your own with --state", f.Cfg.State, err)
	}
	return nil // the code that opens it reports any other fault
}

// ReadLedger opens the ledger without writing; one that does not exist yet is as good as empty.
func (f *Folder) ReadLedger(read func(*ledger.Ledger) error) error {
	if err := f.TrustState(); err != nil {
		return err
	}
	l, err := ledger.OpenReadOnly(f.LedgerPath())
	if errors.Is(err, ledger.ErrNone) {
		return nil
	}
	if err != nil {
		return err
	}
	defer l.Close()
	if err := read(l); err != nil {
		return fmt.Errorf("read ledger: %w", err)
	}
	return nil
}

// LedgerPath is the file of the ledger.
func (f *Folder) LedgerPath() string { return filepath.Join(f.Cfg.State, "ledger.db") }

// Stamp changes when the ledger or the pause does.
func (f *Folder) Stamp() string {
	var out strings.Builder
	path := f.LedgerPath()
	for _, name := range []string{path, path + "-wal", f.Acting.PausePath(f.Cfg.State)} {
		if st, err := os.Lstat(name); err == nil {
			fmt.Fprintf(&out, "%x.%x-", st.ModTime().UnixNano(), st.Size())
		} else {
			out.WriteString("0-")
		}
	}
	return out.String()
}

// RunLock is the file that the daemon of a state folder has locked for as long as it runs.
func (f *Folder) RunLock() string { return filepath.Join(f.Cfg.State, "run.lock") }

// AsksForLock takes the daemon's lock where there is a state folder.
func (f *Folder) AsksForLock() (unlock func() error, err error) {
	if _, err := os.Lstat(f.Cfg.State); err != nil {
		return nil, err
	}
	return lock.Take(f.RunLock())
}

// UserDir is where the lock lies that all of a user's programs which close tabs may share: the folder that the login made for this user, or,
// if that is missing, the folder of the lock of acts. A folder that another user could have made does not count.
func (f *Folder) UserDir() string {
	for _, dir := range []string{os.Getenv("XDG_RUNTIME_DIR"), fmt.Sprintf("/run/user/%d", os.Geteuid())} {
		if _, err := os.Lstat(dir); err == nil && filepath.IsAbs(dir) && safeopen.Trusted(dir) == nil {
			return dir
		}
	}
	if dir := f.Acting.Folder(); dir != "" && safeopen.Trusted(dir) == nil {
		return dir
	}
	return f.Cfg.State
}

// LastsLonger is the pause that holds, where a program asks by the API for one that would end before it: none ends what a person or another program paused for longer.
func (f *Folder) LastsLonger(long time.Duration) *lock.Pause {
	if f.Asker.Conn == nil || f.CommandLine || long == 0 {
		return nil
	}
	p := f.Paused()
	if p == nil || p.Until != nil && !p.Until.After(time.Now().Add(long)) {
		return nil
	}
	return p
}

// PlacePause writes a pause down, and gives it.
func (f *Folder) PlacePause(ctx context.Context, long time.Duration, reason string) (lock.Pause, error) {
	now := host.Now()
	p := lock.Pause{Since: now.At, Reason: reason}
	if long > 0 {
		p.Until = new(now.At.Add(long))
		if boot, err := proc.BootID(f.Cfg.Collect.Processes.Root); err == nil && now.Up != nil {
			p.BootID, p.UntilUp = boot, *now.Up+long.Seconds()
		}
	}
	_, err := f.Acting.Pause(ctx, f.Cfg.State, p)
	return p, err
}

// Resume ends a pause, and reports whether one held.
func (f *Folder) Resume() (bool, error) { return f.Acting.Resume(f.Cfg.State) }

// Paused gives the pause that holds now, nil when it is missing.
func (f *Folder) Paused() *lock.Pause {
	return f.Acting.Paused(f.Cfg.State, func() (string, float64) {
		boot, err := proc.BootID(f.Cfg.Collect.Processes.Root)
		up := host.Now().Up
		if err != nil || up == nil {
			return "", 0
		}
		return boot, *up
	})
}

// Halted says why nothing may be done now, nil where something may.
func (f *Folder) Halted() error {
	if p := f.Paused(); p != nil {
		return p
	}
	return nil
}

// ConfigFingerprint is a digest, before the policies were loaded and put their own parameters in, of what says how this program looks and decides: its version, its configuration, the
// programs that it asks, the variables that say where agents keep their things, and what a path and a pid mean to it. Where a command and the daemon differ in it, the command does its
// work by itself. The variable PATH is not in it, only where it leads: that of a service manager is never a shell's.
func ConfigFingerprint(cfg *config.Config) string {
	h := sha256.New()
	if err := json.NewEncoder(h).Encode([]any{version.Read(), cfg}); err != nil {
		return "" // matches no other one
	}
	for _, name := range append([]string{"HOME"}, Steering...) {
		fmt.Fprintf(h, "%s=%q\n", name, os.Getenv(name))
	}
	for _, name := range []string{"git", "tmux"} {
		path, err := exec.LookPath(name)
		if real, err := filepath.EvalSymlinks(path); err == nil { // /bin is often a link to /usr/bin
			path = real
		}
		fmt.Fprintf(h, "%s=%q %t\n", name, path, err == nil)
	}
	fmt.Fprintf(h, "tmux=%q\n", tmux.OutsideSocket(os.Getenv, os.Getuid()))
	for _, name := range []string{"mnt", "pid"} { // in a container or a sandbox a path is another folder, and a pid another process
		link, err := os.Readlink("/proc/self/ns/" + name)
		fmt.Fprintf(h, "%s=%q %t\n", name, link, err == nil)
	}
	var root unix.Stat_t
	err := unix.Stat("/", &root)
	fmt.Fprintf(h, "root=%d:%d %t\n", root.Dev, root.Ino, err == nil)
	return hex.EncodeToString(h.Sum(nil))
}

// Steering are variables, besides those that begin with WINNOW_, that say where winnow looks.
var Steering = []string{"XDG_CONFIG_HOME", "XDG_STATE_HOME", "TMUX_TMPDIR", "CLAUDE_CONFIG_DIR", "CODEX_HOME", "CODEV_AGENT_FARM_DIR", "HERDR_SOCKET_PATH", "HERDR_SESSION", "SHEPHERD_DB"}

// Holds are those in a ledger, and the leases, which count for every state folder. A nil ledger has none.
func (f *Folder) Holds(ctx context.Context, l *ledger.Ledger) ([]snapshot.Hold, error) {
	all, err := ledger.Leases(ctx, f.Acting, f.Cfg.State)
	if err != nil || l == nil {
		return all, err
	}
	holds, err := l.Holds(ctx)
	all = append(holds, all...)
	slices.SortStableFunc(all, func(x, y snapshot.Hold) int { return strings.Compare(x.ID, y.ID) })
	return all, err
}

// Lift lifts the holds and the leases on a candidate, and says how many there were.
func (f *Folder) Lift(ctx context.Context, l *ledger.Ledger, id string) (n int, err error) {
	if n, err = l.Release(ctx, id, ""); err != nil {
		return n, err
	}
	leases, err := ledger.Leases(ctx, f.Acting, f.Cfg.State)
	if err != nil || !slices.ContainsFunc(leases, func(h snapshot.Hold) bool { return h.ID == id }) {
		return n, err
	}
	g, err := f.OpenGrants()
	if err != nil {
		return n, err
	}
	more, err := g.Release(ctx, id, "")
	return n + more, errors.Join(err, g.Close())
}

// Place places a hold unless an act has begun that takes it: the error is a *ledger.Begun then.
func (f *Folder) Place(ctx context.Context, id string, place func() error) error {
	g, err := f.OpenGrants()
	if err != nil {
		return err
	}
	return errors.Join(g.Place(ctx, id, place), g.Close())
}

// OpenGrants opens the order of grants and acts of this user.
func (f *Folder) OpenGrants() (*ledger.Grants, error) {
	root := f.Cfg.Collect.Processes.Root
	return ledger.OpenGrants(f.Acting, f.Cfg.State, func(id string) ([]int, error) { return LineOf(root, id) })
}

// LineOf gives the process of a candidate's id and all above it; none where that process has ended.
func LineOf(root, id string) ([]int, error) {
	var pid int
	var ticks uint64
	if _, err := fmt.Sscanf(strings.TrimPrefix(id, snapshot.KindProcess+":"), "%d@%d", &pid, &ticks); err != nil {
		return nil, nil // it names no process that ever was
	}
	h, err := proc.Hold(root, pid)
	if errors.Is(err, proc.ErrEnded) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer h.Close()
	if h.Was.Start != ticks {
		return nil, nil
	}
	line, err := proc.Lineage(root, pid)
	if h.Ended() {
		return nil, nil
	}
	return line, err
}

// ReadHolds reads the holds and the leases.
func (f *Folder) ReadHolds(ctx context.Context) (holds []snapshot.Hold, err error) {
	none := true
	err = f.ReadLedger(func(l *ledger.Ledger) (err error) {
		none = false
		holds, err = f.Holds(ctx, l)
		return err
	})
	if err == nil && none {
		holds, err = f.Holds(ctx, nil)
	}
	return holds, err
}
