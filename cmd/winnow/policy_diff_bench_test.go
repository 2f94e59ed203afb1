package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/engine/subject"
	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/look"
	"github.com/winnow-reaper/winnow/internal/ops"
	"github.com/winnow-reaper/winnow/internal/policycmp"
	"github.com/winnow-reaper/winnow/internal/ruleset"
	"github.com/winnow-reaper/winnow/internal/saved"
	"github.com/winnow-reaper/winnow/internal/sources"
	"github.com/winnow-reaper/winnow/internal/state"
	"github.com/winnow-reaper/winnow/policies"
)

// benchVersions are what the second version of the policies changes: a rule less, another reason to reap, and what most reasons to keep lean on.
var benchVersions = map[string]func(dir string) error{
	"less": func(dir string) error { return os.RemoveAll(filepath.Join(dir, "protect", "young")) },
	"changed": func(dir string) error {
		return appendTo(filepath.Join(dir, "reap", "processes", "orphan", "orphan.rego"))
	},
	"all": func(dir string) error { return appendTo(filepath.Join(dir, "lib", "reasons", "reasons.rego")) },
}

func appendTo(file string) error {
	data, err := os.ReadFile(file)
	return errors.Join(err, os.WriteFile(file, append(data, "\n# Another version.\n"...), 0o600))
}

// BenchmarkPolicyDiff compares two versions of the policies over 1,000 recorded snapshots, and asks stock opa eval the same of the same subjects: two
// runs a snapshot, each for all of its subjects at once. Of those runs only a few are made, before and after, and their least is taken for each.
// Goal: at least 100 times faster. A version without one rule is so at hundreds of candidates, and comes near it at a thousand; one with a changed rule under reap is not,
// since all candidates of its kind are asked again whether they are in scope.
// -short takes 100 snapshots, over which the loading of the policies does not spread as far.
func BenchmarkPolicyDiff(b *testing.B) {
	recorded, asked := 1000, 3
	if testing.Short() {
		recorded, asked = 100, 1
	}
	machine, large := benchMachine(b, 100, 10), benchMachine(b, 800, 20)
	incident, _, err := saved.Read(b.Context(), "../../policy_test/worlds/machine.json")
	if err != nil {
		b.Fatal(err)
	}
	opa := buildOPA(b, b.TempDir())
	for _, s := range []*snapshot.Snapshot{incident, machine, large} {
		for version, change := range benchVersions {
			b.Run(fmt.Sprintf("%s/candidates=%d", version, len(s.Processes)+len(s.Dirs)+len(s.Sessions)), func(b *testing.B) { diffAndOPA(b, opa, s, change, recorded, asked) })
		}
	}
}

func benchMachine(b *testing.B, processes, worktrees int) *snapshot.Snapshot {
	b.Helper()
	s, err := newLookWorld(b, processes, 10, worktrees).app.Look(b.Context(), sources.Scope{}, look.PriorState{})
	if err != nil {
		b.Fatal(err)
	}
	return s
}

// diffAndOPA compares two versions over so many snapshots like s, and asks opa so many times.
func diffAndOPA(b *testing.B, opa string, s *snapshot.Snapshot, change func(dir string) error, recorded, asked int) {
	defer debug.SetGCPercent(debug.SetGCPercent(gcPercent)) // as the program does
	dir := b.TempDir()
	snaps, own := filepath.Join(dir, "snapshots"), filepath.Join(dir, "policies")
	writeSnapshots(b, snaps, s, recorded)
	copyPolicies(b, own)
	if err := change(own); err != nil {
		b.Fatal(err)
	}
	one, oneCPU := math.Inf(1), math.Inf(1)
	ask := func() {
		for range asked {
			before := processors(b)
			one = min(one, opaSeconds(b, opa, dir, s, own))
			oneCPU = min(oneCPU, processors(b)-before)
		}
	}
	ask()
	cfg, err := config.Load("", nil)
	if err != nil {
		b.Fatal(err)
	}
	a := (&app{Ops: ops.New(state.Folder{Cfg: cfg, Log: hclog.NewNullLogger()}), out: io.Discard, errOut: io.Discard, flags: globalFlags{format: "json"}}).watched()
	each, eachCPU := math.Inf(1), math.Inf(1)
	for b.Loop() {
		begin, before := time.Now(), processors(b)
		if err := a.policyDiff(b.Context(), ruleset.EmbeddedName, own, policycmp.Options{Snapshots: []string{snaps}, Repo: ".", Path: "policies"}); err != nil {
			b.Fatal(err)
		}
		each, eachCPU = min(each, time.Since(begin).Seconds()/float64(recorded)), min(eachCPU, (processors(b)-before)/float64(recorded))
	}
	ask()
	b.ReportMetric(1e3*each, "ms/snapshot")
	b.ReportMetric(1e3*one, "opa-ms/snapshot")
	b.ReportMetric(one/each, "x-opa")
	// By processor time, which a machine that is busy with other things changes less.
	b.ReportMetric(1e3*eachCPU, "cpu-ms/snapshot")
	b.ReportMetric(1e3*oneCPU, "opa-cpu-ms/snapshot")
	b.ReportMetric(oneCPU/eachCPU, "x-opa-cpu")
}

// processors is how long the processors have worked for this process and for those of its children that have ended, in seconds.
func processors(b *testing.B) (sum float64) {
	b.Helper()
	for _, who := range []int{unix.RUSAGE_SELF, unix.RUSAGE_CHILDREN} {
		var used unix.Rusage
		if err := unix.Getrusage(who, &used); err != nil {
			b.Fatal(err)
		}
		sum += time.Duration(used.Utime.Nano() + used.Stime.Nano()).Seconds()
	}
	return sum
}

// writeSnapshots writes a snapshot many times, a minute apart.
func writeSnapshots(b *testing.B, dir string, s *snapshot.Snapshot, n int) {
	b.Helper()
	err := os.Mkdir(dir, 0o700)
	taken := s.TakenAt
	for i := range n {
		s.TakenAt = taken.Add(time.Duration(i) * time.Minute)
		data, e := json.Marshal(s)
		err = errors.Join(err, e, os.WriteFile(filepath.Join(dir, fmt.Sprintf("s%04d.json", i)), data, 0o600))
	}
	if s.TakenAt = taken; err != nil {
		b.Fatal(err)
	}
}

func copyPolicies(b *testing.B, to string) {
	b.Helper()
	if err := os.CopyFS(to, policies.Files); err != nil {
		b.Fatal(err)
	}
	_ = fs.WalkDir(os.DirFS(to), ".", func(path string, _ fs.DirEntry, _ error) error { return os.Chmod(filepath.Join(to, path), 0o700) })
}

// buildOPA builds the stock tool of the tools' module.
func buildOPA(b *testing.B, dir string) string {
	b.Helper()
	out := filepath.Join(dir, "opa")
	cmd := exec.Command("go", "build", "-modfile=tools/go.mod", "-o", out, "github.com/open-policy-agent/opa")
	cmd.Dir = "../.."
	if said, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("build opa: %v\n%s", err, said)
	}
	return out
}

// opaSeconds is how long two runs of opa eval take on all subjects of a snapshot.
func opaSeconds(b *testing.B, opa, dir string, s *snapshot.Snapshot, own string) float64 {
	b.Helper()
	cfg, err := config.Load("", nil)
	if err == nil {
		err = cfg.SetCustom(nil)
	}
	if err != nil {
		b.Fatal(err)
	}
	j := subject.Join(s, &cfg.Rules.Config)
	var subjects []*subject.Subject
	for _, kind := range snapshot.KindNames() {
		for _, id := range j.IDs(kind) {
			sub, _ := j.Subject(id)
			subjects = append(subjects, sub)
		}
	}
	data, err := json.Marshal(map[string]any{"subjects": subjects})
	input := filepath.Join(dir, "subjects.json")
	if err = errors.Join(err, os.WriteFile(input, data, 0o600)); err != nil {
		b.Fatal(err)
	}
	base := filepath.Join(dir, "base")
	if _, err := os.Stat(base); err != nil {
		copyPolicies(b, base)
	}
	begin := time.Now()
	for _, version := range []string{base, own} {
		var out, complaint bytes.Buffer
		cmd := exec.Command(opa, "eval", "-f", "json", "-d", version, "-i", input,
			"[d | some s in input.subjects; d := data.policies.main.decision with input as s]")
		cmd.Stdout, cmd.Stderr = &out, &complaint
		if err := cmd.Run(); err != nil {
			b.Fatalf("opa eval: %v\n%s%s", err, &out, &complaint)
		}
		if n := bytes.Count(out.Bytes(), []byte(`"verdict"`)); n != len(subjects) {
			b.Fatalf("opa decided %d of %d", n, len(subjects))
		}
	}
	return time.Since(begin).Seconds()
}
