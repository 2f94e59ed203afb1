package proc

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/winnow-reaper/winnow/test/kit/must"
	"github.com/winnow-reaper/winnow/test/kit/wait"

	"github.com/google/go-cmp/cmp"
)

func TestAlive(t *testing.T) {
	t.Parallel()
	h := must.Get(Hold("/proc", os.Getpid()))(t)
	defer h.Close()
	for start, want := range map[uint64]bool{h.Was.Start: true, h.Was.Start + 1: false} {
		if got, err := Alive("/proc", h.PID, start); err != nil || got != want {
			t.Errorf("start %d: %v, %v", start, got, err)
		}
	}
}

// TestHeldThatEnds: every reading of a process that has ended says so, before and after its parent has taken note.
func TestHeldThatEnds(t *testing.T) {
	t.Parallel()
	c := exec.Command("sleep", "1000")
	must.Do(t, c.Start())
	h, err := Hold("/proc", c.Process.Pid)
	if err != nil {
		t.Fatal(errors.Join(err, c.Process.Kill(), c.Wait()))
	}
	defer h.Close()
	if text, err := h.Read("status"); err != nil || len(text) == 0 {
		t.Errorf("status %q: %v", text, err)
	}
	if link, err := h.Link("ns/pid"); err != nil || Namespace(link) == nil {
		t.Errorf("link %q: %v", link, err)
	}
	if uid, err := h.Owner(); err != nil || uid != os.Geteuid() {
		t.Errorf("owner %d: %v", uid, err)
	}
	if h.Ended() {
		t.Error("it is taken for one that has ended")
	}
	must.Do(t, c.Process.Kill())
	wait.Eventually(t, "a zombie that counts as ended", h.Ended)
	_ = c.Wait()
	_, stat := h.Stat()
	_, read := h.Read("status")
	_, link := h.Link("exe")
	_, turns := h.Turns()
	_, typed := h.Typed()
	_, again := Hold("/proc", h.PID)
	for name, err := range map[string]error{"stat": stat, "read": read, "link": link, "turns": turns, "typed": typed, "held again": again} {
		if !errors.Is(err, ErrEnded) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestScan(t *testing.T) {
	t.Parallel()
	all := must.Get(Scan("/proc"))(t)
	if all[os.Getpid()].Parent != os.Getppid() {
		t.Error("this process is not below its parent")
	}
	for pid := range all {
		if pid != all[pid].PID {
			t.Errorf("%d is listed as %d", all[pid].PID, pid)
		}
	}
	if Hidden(map[int]Stat{2: {}}) == nil || Hidden(map[int]Stat{1: {}}) != nil {
		t.Error("what is hidden")
	}
}

func TestDigestOfNothing(t *testing.T) {
	t.Parallel()
	if Digest("boot", nil) != "" || Digest("", []byte("x")) != "" || Digest("boot", []byte("x")) == Digest("toob", []byte("x")) {
		t.Error("a digest proves something that it does not")
	}
}

func TestLineage(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	const rest = " 7 7 0 -1 0 0 0 0 0 1 2 3 4 20 0 1 0 777 1000 50"
	for pid, text := range map[int]string{7: "(a) b) c\n) S 5" + rest, 5: "(sh) S 1" + rest, 1: "(init) S 0" + rest, 9: "(x) S 8" + rest,
		4: "(y)", 20: "(winnow) S 0" + rest, 30: "(in a) S 31" + rest, 31: "(circle) S 30" + rest} {
		dir := filepath.Join(root, strconv.Itoa(pid))
		must.Do(t, errors.Join(os.Mkdir(dir, 0o755), os.WriteFile(filepath.Join(dir, "stat"), []byte(strconv.Itoa(pid)+" "+text), 0o644)))
	}
	got, err := Lineage(root, 7)
	if diff := cmp.Diff([]int{7, 5, 1}, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if got, err := Lineage(root, 20); err != nil || !slices.Equal(got, []int{20}) { // put into the pid namespace from outside
		t.Errorf("%v, %v", got, err)
	}
	for _, pid := range []int{9, 4, 30} {
		if got, err := Lineage(root, pid); err == nil {
			t.Errorf("lineage of %d: %v", pid, got)
		}
	}
	if own, err := Lineage("/proc", os.Getpid()); err != nil || len(own) < 2 || own[1] != os.Getppid() {
		t.Errorf("own lineage: %v %v", own, err)
	}
}
