package policy_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/eval"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/engine/subject"
	"github.com/winnow-reaper/winnow/internal/redact"
	"github.com/winnow-reaper/winnow/test/kit/must"
	"github.com/winnow-reaper/winnow/test/kit/stage"
)

// TestARedactedSnapshotIsDecidedAlike decides every case on its snapshot and on a redacted copy of it: the same verdicts for the same reasons, by
// the same rules. The first stage takes one of eight cases.
func TestARedactedSnapshotIsDecidedAlike(t *testing.T) {
	t.Parallel()
	e := shipped(t)
	for name, c := range cases(t) {
		if !drawn(name, stage.Trials(16, 1)) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := configOf(t, c)
			if n := alike(t, e, config, parse(t, worldOf(t, c))); n == 0 && len(c.Want) > 1 {
				t.Error("nothing is decided")
			}
		})
	}
}

// TestARedactedMachineIsDecidedAlike does so with machines of chance, whose processes come from one another, carry markers and are forgotten in part.
func TestARedactedMachineIsDecidedAlike(t *testing.T) {
	t.Parallel()
	e, config := shipped(t), configOf(t, Case{})
	decided := 0
	for seed := range uint64(25) {
		f := newForest(seed, config)
		server := f.tmux(f.shell(nil))
		for range 1 + f.IntN(4) {
			s := f.shell(choose(f, server, nil))
			f.person(s)
			f.grow(f.agent(s), 0)
		}
		f.before = subject.Ancestries(f.look(0), config, nil)
		f.live()
		s := f.look(choose(f, 0, 0, 0.05))
		sighted(s, config)
		decided += alike(t, e, config, s)
	}
	if decided < 25 {
		t.Errorf("%d decisions were compared; these machines have more", decided)
	}
}

// alike decides a snapshot and its redacted copy, and wants the same. It gives how many decisions there are.
func alike(t *testing.T, e *eval.Engine, config *subject.Config, s *snapshot.Snapshot) int {
	t.Helper()
	r := redact.New(redact.Options{Config: config})
	copied := r.Snapshot(s)
	before := must.Get(e.Decide(t.Context(), s, config))(t)
	after := must.Get(e.Decide(t.Context(), copied, config))(t)
	got, want := map[string]Want{}, map[string]Want{}
	for _, d := range before.Decisions {
		want[r.ID(d.ID)] = wanted(d)
	}
	for _, d := range after.Decisions {
		got[d.ID] = wanted(d)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("decided otherwise (-original +redacted):\n%s", diff)
	}
	return len(want)
}

func wanted(d decision.Decision) Want {
	return Want{Verdict: d.Verdict, Level: d.Level, Findings: rules(d.Findings), Objections: rules(d.Objections)}
}

// TestARedactedSnapshotNamesNobody looks for the names of every case's paths, sessions, tabs and records in its redacted copy. What the copy
// says that it kept may be there.
func TestARedactedSnapshotNamesNobody(t *testing.T) {
	t.Parallel()
	looked, all := 0, cases(t)
	for i, name := range slices.Sorted(maps.Keys(all)) {
		if i%5 != 0 { // the worlds are few, and the cases differ little in their names
			continue
		}
		c := all[name]
		config := configOf(t, c)
		world := parse(t, worldOf(t, c))
		copied := redact.New(redact.Options{Config: config}).Snapshot(world)
		said := map[string]bool{}
		for _, w := range slices.Concat(copied.Redaction.Kept, copied.Redaction.Whole) {
			said[w] = true
		}
		copied.Redaction = nil
		there := map[string]bool{}
		for _, w := range words(t, copied) {
			there[w] = true
		}
		for _, w := range namesIn(world) {
			if looked++; there[w] && !said[w] && !plainWord.MatchString(w) {
				t.Errorf("%s: %q is in the redacted copy", name, w)
			}
		}
	}
	if looked < 2000 {
		t.Errorf("%d names were looked for; the cases have more", looked)
	}
}

// plainWord are words that say what a thing is and not whose, and ids that servers give.
var plainWord = regexp.MustCompile(`^(|\.|\.\.|home|tmp|proc|usr|bin|run|user|var|root|\.git|worktrees|\.worktrees|\.claude|default|refs|heads|remotes|origin|main|master|versions|tmux|herdr|codev|dirs|true|false|[$%@]?[0-9]+|w[0-9]+(:[pt][0-9]+)?|pid-[0-9]+)$`)

// words are all texts of a snapshot and the parts of those that are paths.
func words(t *testing.T, s *snapshot.Snapshot) (out []string) {
	data := must.Get(json.Marshal(s))(t)
	dec := json.NewDecoder(bytes.NewReader(data))
	for {
		token, err := dec.Token()
		if err != nil {
			return out
		}
		if text, ok := token.(string); ok {
			out = append(append(out, text), strings.FieldsFunc(text, func(c rune) bool { return c == '/' || c == ':' })...)
		}
	}
}

// namesIn are the names that a person, a machine or a project gave.
func namesIn(s *snapshot.Snapshot) (out []string) {
	path := func(p string) { out = append(out, strings.Split(p, "/")...) }
	out = append(out, s.Host.Name, s.Host.User)
	path(s.Host.Home)
	for _, v := range s.Sessions {
		out = append(out, v.Name)
	}
	for _, v := range s.Tabs {
		out = append(out, v.Label)
	}
	for _, v := range s.Terminals {
		out = append(out, v.Role, v.Label)
		path(v.Cwd)
	}
	for _, v := range s.Dirs {
		path(v.Path)
		out = append(out, v.Name)
		if v.Git != nil {
			path(v.Git.Main)
			path(v.Git.Branch)
		}
	}
	for _, v := range s.Processes {
		out = append(out, v.Name)
		if v.Cwd != nil {
			path(strings.TrimSuffix(*v.Cwd, " (deleted)"))
		}
		if v.Markers != nil {
			for _, value := range *v.Markers {
				path(strings.Split(value, ",")[0])
			}
		}
	}
	for _, v := range slices.Concat(s.Spawns, s.Registry) {
		out = append(out, v.ID, v.Session, v.Label, v.Marker)
		path(v.Path)
	}
	return out
}
