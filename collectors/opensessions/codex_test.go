package opensessions_test

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/collectors"
	"github.com/winnow-reaper/winnow/collectors/opensessions"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/test/kit/files"
	"github.com/winnow-reaper/winnow/test/kit/must"
)

// TestCodexThreads: a locked file is an open thread, one without a lock was left behind by a Codex that was killed.
func TestCodexThreads(t *testing.T) {
	t.Parallel()
	const open, left = "01a205ee-7362-7191-87f7-b5cbe60c0654", "01a205ee-7362-7191-87f7-b5cbe60c0655"
	dir, at := filepath.Join(t.TempDir(), "thread-writer-locks"), time.Unix(1_790_000_000, 0).UTC()
	must.Do(t, os.Mkdir(dir, 0o700))
	for _, name := range []string{open + ".lock", left + ".lock", ".coordination.lock", "notes.lock", left + ".lock.bak"} {
		path := filepath.Join(dir, name)
		must.Do(t, errors.Join(os.WriteFile(path, nil, 0o600), os.Chtimes(path, at, at)))
	}
	must.Do(t, os.Symlink(left+".lock", filepath.Join(dir, "01a205ee-7362-7191-87f7-b5cbe60c0656.lock")))
	f := must.Get(os.Open(filepath.Join(dir, open+".lock")))(t)
	t.Cleanup(func() { _ = f.Close() })
	must.Do(t, unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB))

	const source = "agents/codex"
	part := must.Get(opensessions.Codex("/proc/locks").Source("codex", dir).Reader.Read(t.Context()))(t)
	must.Equal(t, []snapshot.OpenSession{
		{Source: source, Agent: "codex", ID: open, PID: os.Getpid(), WrittenAt: &at},
		{Source: source, Agent: "codex", ID: left, WrittenAt: &at, Ended: new(true)},
	}, part.Open, "result")
}

// TestALockOnAnotherDeviceKeeps: the kernel's list names another device for files of btrfs than stat does.
func TestALockOnAnotherDeviceKeeps(t *testing.T) {
	t.Parallel()
	const thread = "01a205ee-7362-7191-87f7-b5cbe60c0654"
	dir, locks := filepath.Join(t.TempDir(), "locks"), filepath.Join(t.TempDir(), "proc-locks")
	must.Do(t, errors.Join(os.Mkdir(dir, 0o700), os.WriteFile(filepath.Join(dir, thread+".lock"), nil, 0o600)))
	var st unix.Stat_t
	must.Do(t, unix.Stat(filepath.Join(dir, thread+".lock"), &st))
	for line, ended := range map[string]bool{
		"1: FLOCK  ADVISORY  WRITE 4000 00:2a:%d 0 EOF\n":    false,
		"1: -> FLOCK  ADVISORY  WRITE 4000 00:2a:%d 0 EOF\n": false,
		"1: OFDLCK ADVISORY  WRITE -1 00:2a:%d 0 EOF\n":      false,
		"1: FLOCK  ADVISORY  WRITE 4000 00:2a:9%d 0 EOF\n":   true,
		"": true,
	} {
		files.Write(t, locks, strings.ReplaceAll(line, "%d", strconv.FormatUint(st.Ino, 10)))
		part := must.Get(opensessions.Codex(locks).Source("codex", dir).Reader.Read(t.Context()))(t)
		if len(part.Open) != 1 || (part.Open[0].Ended != nil) != ended {
			t.Errorf("%q: %+v, want ended %v", line, part.Open, ended)
		}
	}
}

func TestCodexWithoutTheKernelsList(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "thread-writer-locks")
	must.Do(t, os.Mkdir(dir, 0o700))
	_, err := opensessions.Codex(filepath.Join(dir, "missing")).Source("codex", dir).Reader.Read(t.Context())
	if err == nil || errors.Is(err, collectors.ErrAbsent) {
		t.Errorf("error %v, want a failure", err)
	}
	if _, err := opensessions.Codex("/proc/locks").Source("codex", filepath.Join(dir, "none")).Reader.Read(t.Context()); !errors.Is(err, collectors.ErrAbsent) {
		t.Errorf("error %v, want absent", err)
	}
	home := filepath.Join(dir, "home")
	if path, ok := opensessions.Codex("").Place(func(string) string { return "" }, home); ok {
		t.Errorf("%s is there", path)
	}
	env := func(name string) string { return map[string]string{"CODEX_HOME": filepath.Dir(dir)}[name] }
	if path, ok := opensessions.Codex("").Place(env, home); !ok || path != dir {
		t.Errorf("%s, %v, want %s", path, ok, dir)
	}
}
