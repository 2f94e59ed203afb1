package opensessions

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/collectors"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/sys/proc"
	"github.com/winnow-reaper/winnow/internal/sys/sqlite"
)

// Codex keeps a lock for each thread that it has open. Locks is the kernel's list, /proc/locks.
//
// Codex (seen with 0.169.0) makes a file <thread>.lock when it opens a thread, new or resumed, and locks it (flock) for as long as it has the thread open.
// When it closes the thread, or ends by itself, it removes the file. So a file that no process has locked was left by a Codex that was killed,
// and the file's time is when that Codex opened the thread. One Codex may have several threads open.
func Codex(locks string) Agent {
	read := func(r reader) collectors.Reader { return codex{r, locks} }
	return Agent{"codex", []string{"CODEX_HOME"}, ".codex", "thread-writer-locks", read}
}

type codex struct {
	reader
	locks string
}

var threadLock = regexp.MustCompile(`^([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\.lock$`)

func (c codex) Read(ctx context.Context) (collectors.Part, error) {
	d, entries, err := c.list(ctx)
	if err != nil {
		return collectors.Part{}, err
	}
	type file struct {
		thread string
		stat   unix.Stat_t
	}
	var files []file
	for _, e := range entries {
		name := threadLock.FindStringSubmatch(strings.ToLower(e.Name()))
		var st unix.Stat_t
		if name == nil || !isOwnFile(filepath.Join(d.Dir, e.Name()), &st) {
			continue
		}
		files = append(files, file{name[1], st})
	}
	held, err := c.held()
	if err != nil {
		return collectors.Part{}, fmt.Errorf("read which threads of Codex are open: %w: all that may belong to one stays", err)
	}
	var part collectors.Part
	works := sync.OnceValue(func() map[string]string { return folders(ctx, filepath.Dir(d.Dir)) })
	for _, f := range files {
		s := snapshot.OpenSession{Source: c.source, Agent: c.agent, ID: f.thread, WrittenAt: modified(&f.stat)}
		var now unix.Stat_t
		switch pids := held[f.stat.Ino]; {
		case len(pids) > 0:
			s.PID, s.Folder = max(0, pids[0]), folder(works()[f.thread])
		case unix.Lstat(filepath.Join(d.Dir, f.thread+".lock"), &now) == nil && now.Ino == f.stat.Ino && now.Mtim == f.stat.Mtim:
			s.Ended = new(true)
		default:
			s.Folder = folder(works()[f.thread])
		}
		part.Open = append(part.Open, s)
	}
	return part, ctx.Err()
}

// isOwnFile reports whether a path is a file of this user's, and reads its state.
func isOwnFile(path string, st *unix.Stat_t) bool {
	return unix.Lstat(path, st) == nil && st.Mode&unix.S_IFMT == unix.S_IFREG && int(st.Uid) == os.Geteuid()
}

// modified is when a file was last written.
func modified(st *unix.Stat_t) *time.Time { return new(time.Unix(st.Mtim.Unix()).UTC()) }

// held are the processes that have a lock, by the inode of its file. The device is left out: btrfs gives the kernel's list another one than stat. A
// file on another device with the same inode then seems to be locked, and its thread to be open, which keeps.
func (c codex) held() (map[uint64][]int, error) {
	text, err := os.ReadFile(c.locks)
	if err != nil {
		return nil, err
	}
	held := map[uint64][]int{}
	for _, l := range proc.Locks(text) {
		if inode, ok := l.Inode(); ok {
			held[inode] = append(held[inode], l.PID)
		}
	}
	return held, nil
}

// storeWithin is how long Codex's store may take.
const storeWithin = 2 * time.Second

// state is a store of Codex's: state_5.sqlite. Its number grows with its layout.
var state = regexp.MustCompile(`^state_([0-9]{1,9})\.sqlite$`)

// folders are those in which Codex's threads work, by the threads' ids: threads.cwd of the newest store (seen with 0.171.0). A store that cannot be read or has
// another layout gives none, and then where a thread works is not known.
func folders(ctx context.Context, home string) map[string]string {
	path := newestStore(home)
	if path == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, storeWithin)
	defer cancel()
	rows, err := sqlite.Read(ctx, path, "threads", "id", "cwd")
	if err != nil {
		return nil
	}
	out := map[string]string{}
	for _, row := range rows {
		id, err := row.Text("id")
		at, none := row.Text("cwd")
		if err == nil && none == nil {
			out[id] = at
		}
	}
	return out
}

func newestStore(home string) (path string) {
	files, _ := os.ReadDir(home)
	newest := -1
	for _, e := range files {
		if m := state.FindStringSubmatch(e.Name()); m != nil {
			if n, err := strconv.Atoi(m[1]); err == nil && n > newest {
				newest, path = n, filepath.Join(home, e.Name())
			}
		}
	}
	return path
}
