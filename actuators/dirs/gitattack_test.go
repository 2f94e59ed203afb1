package dirs

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/test/kit/attack"
	"github.com/winnow-reaper/winnow/test/kit/executable"
	"github.com/winnow-reaper/winnow/test/kit/must"
	"github.com/winnow-reaper/winnow/test/kit/stage"
)

// hostile makes the repository name a program wherever git looks for one, and gives what that program left.
func (w *world) hostile() (config string, ran func() string) {
	w.t.Helper()
	mark, evil := filepath.Join(w.base, "ran"), filepath.Join(w.base, "evil.sh")
	w.program(evil, mark)
	for _, hook := range []string{"reference-transaction", "post-index-change", "fsmonitor-watchman", "pre-auto-gc", "post-checkout", "post-rewrite"} {
		w.program(filepath.Join(w.main, ".git", "hooks", hook), mark)
		w.program(filepath.Join(w.base, "hooks", hook), mark)
	}
	config = strings.ReplaceAll("[core]\n\tfsmonitor = EVIL\n\thooksPath = HOOKS\n\tpager = EVIL\n\teditor = EVIL\n\talternateRefsCommand = EVIL\n"+
		"\tsshCommand = EVIL\n\tlogAllRefUpdates = always\n[diff]\n\texternal = EVIL\n[alias]\n\tupdate-ref = !EVIL\n\trev-list = !EVIL\n"+
		"[gpg]\n\tprogram = EVIL\n[gc]\n\tauto = 1\n[filter \"x\"]\n\tclean = EVIL\n[filter.X \"y\"]\n\tclean = EVIL\n"+
		"[remote \"origin\"]\n\tpromisor = true\n\turl = ext::EVIL\n[protocol]\n\tallow = always\n", "EVIL", evil)
	config = strings.ReplaceAll(config, "HOOKS", filepath.Join(w.base, "hooks"))
	w.write(filepath.Join(w.main, ".git", "info", "attributes"), "* filter=x diff=x\n")
	return config, func() string {
		data, err := os.ReadFile(mark)
		if err == nil {
			err = os.Remove(mark)
		}
		if err != nil && !os.IsNotExist(err) {
			w.t.Fatal(err)
		}
		return string(data)
	}
}

func (w *world) program(path, mark string) {
	w.t.Helper()
	executable.Write(w.t, path, "#!/bin/sh\necho \"$0\" >>'"+mark+"'\nexit 1\n")
}

func (w *world) configure(text string) {
	w.t.Helper()
	path := filepath.Join(w.main, ".git", "config")
	old, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, append(old, text...), 0o600)
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// TestAttackARepositoryThatIsActedOn sets a worktree aside, brings it back, sets it aside again and purges it, while everything that
// its repository can name is a program.
func TestAttackARepositoryThatIsActedOn(t *testing.T) {
	t.Parallel()
	a := attack.New(t, "a worktree is set aside, restored and purged while its repository names programs and has hooks")
	w := newWorld(t)
	w.write(filepath.Join(w.tree, "staged"), "staged\n")
	w.git(w.tree, "add", "staged")
	config, ran := w.hostile()
	w.configure(config)
	step := func(name string, err error) {
		t.Helper()
		if left := ran(); left != "" {
			a.Lost("%s: something ran: %s", name, left)
			return
		}
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		a.Held()
	}
	_ = ran()
	// identity asks plain git, which runs things itself.
	d := w.decision(w.tree)
	_ = ran()
	act := func(id string) decision.Intent {
		g, err := New(w.o).Hold(t.Context(), id, d)
		step("hold", err)
		in := decision.Intent{ID: id, Candidate: d.ID, Kind: d.Kind, Label: w.tree, Identity: d.Identity, At: time.Now(),
			RestoreUntil: time.Now().Add(time.Hour), Plan: g.Plan()}
		in = throughJSON(t, in)
		if out := w.act(g, in); out.Outcome != decision.Done {
			t.Fatalf("outcome: %+v", out)
		}
		step("set aside", g.Close())
		return in
	}
	in := act("one")
	_, err := New(w.o).Restore(t.Context(), in)
	step("restore", err)
	in = act("two")
	_, err = New(w.o).Purge(t.Context(), in)
	step("purge", err)
	if out, err := w.tryGit(w.main, "status"); ran() == "" {
		t.Errorf("plain git runs nothing either, so this shows nothing: %v\n%s", err, out)
	}
}

// TestAttackAConfigurationThatIsSwappedUnderAnAct swaps configuration and hooks while refs are made and removed.
func TestAttackAConfigurationThatIsSwappedUnderAnAct(t *testing.T) {
	t.Parallel()
	a := attack.New(t, "configuration and hooks are swapped while refs of an act are made and removed")
	w := newWorld(t)
	hostile, ran := w.hostile()
	path := filepath.Join(w.main, ".git", "config")
	honest := must.Get(os.ReadFile(path))(t)
	head := strings.TrimSpace(w.git(w.tree, "rev-parse", "HEAD"))
	admin := strings.TrimSpace(w.git(w.tree, "rev-parse", "--absolute-git-dir"))
	_ = ran()
	done := make(chan struct{})
	var swapping sync.WaitGroup
	swapping.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-done:
				return
			case <-time.After(200 * time.Microsecond): // the machine is shared
			}
			text := string(honest)
			if i%2 == 0 {
				text += hostile
			}
			if os.WriteFile(path+".next", []byte(text), 0o600) == nil {
				_ = os.Rename(path+".next", path)
			}
		}
	})
	r := New(w.o).repo(filepath.Join(w.main, ".git"), admin)
	for i := range stage.Trials(40, 300) {
		refs := refPrefix(fmt.Sprintf("act%d", i/2))
		var err error
		if i%2 == 0 {
			err = r.MakeBranch(t.Context(), refs+"head", head)
		} else {
			err = r.Drop(t.Context(), refs)
		}
		if left := ran(); left != "" {
			a.Lost("something ran: %s", left)
			continue
		}
		if err != nil {
			t.Fatalf("%s: %v", refs, err)
		}
		a.Held()
	}
	close(done)
	swapping.Wait()
	must.Do(t, os.WriteFile(path, honest, 0o600))
	if left := w.git(w.main, "for-each-ref", "refs/winnow/"); left != "" {
		t.Errorf("refs are left: %s", left)
	}
}

// TestRefsThatGitPacked holds that an act's refs go also when git has packed them in the meantime, and nothing else with them.
func TestRefsThatGitPacked(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	admin := strings.TrimSpace(w.git(w.tree, "rev-parse", "--absolute-git-dir"))
	head := strings.TrimSpace(w.git(w.tree, "rev-parse", "HEAD"))
	before := w.git(w.main, "for-each-ref")
	r := New(w.o).repo(filepath.Join(w.main, ".git"), admin)
	must.Get(r.Keep(t.Context(), refPrefix("one"), head))(t)
	if _, err := r.Keep(t.Context(), refPrefix("one"), head); err == nil {
		t.Error("refs that were there were made once more")
	}
	if got := w.git(w.main, "rev-parse", refPrefix("one")+"head"); strings.TrimSpace(got) != head {
		t.Errorf("the ref is %s", got)
	}
	w.git(w.main, "pack-refs", "--all", "--prune")
	must.Do(t, r.Drop(t.Context(), refPrefix("one")))
	if after := w.git(w.main, "for-each-ref"); after != before {
		t.Errorf("before:\n%s\nafter:\n%s", before, after)
	}
	if out := w.git(w.main, "fsck", "--no-dangling"); strings.Contains(out, "error") {
		t.Error(out)
	}
}
