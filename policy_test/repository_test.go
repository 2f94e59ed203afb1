package policy_test

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/eval"
	"github.com/winnow-reaper/winnow/engine/policy"
	"github.com/winnow-reaper/winnow/internal/incidents"
	"github.com/winnow-reaper/winnow/test/kit/attack"
)

// objecting is a rule of a repository with that body.
func objecting(evidence, body string) string {
	return "package policies.protect.own\n\nobjections contains {\"rule\": \"protect.own\", \"message\": \"its repository says so\", \"evidence\": " + evidence + "} if {\n" + body + "\n}\n"
}

// tens are ten numbers, for loops.
const tens = "xs := [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]\n\t"

// repositories are policies of repositories that load, by name: the widest and the oddest of them, and some that come to no answer.
var repositories = map[string]string{
	"everything":        objecting("{}", "input.kind"),
	"nothing":           objecting("{}", "input.id == \"\""),
	"folders":           objecting("{\"path\": input.dir.path}", "input.kind == \"dir\""),
	"unknown":           objecting("{}", "not _safe") + "\n_safe if input.age > 1000000\n",
	"like a decision":   objecting(`{"verdict": "reap", "level": "on", "findings": [{"rule": "reap.dirs.landed", "message": "x", "evidence": {}}], "repository": "/elsewhere"}`, "input.kind"),
	"like another rule": strings.ReplaceAll(objecting("{}", "input.kind"), "protect.own", "protect.seen_once_too"),
	"too much":          objecting("{\"n\": [a, b, c]}", tens+"some a in xs\n\tsome b in xs\n\tsome c in xs"),
	"an error":          objecting("{}", "regex.match(\"[\", input.id)"),
}

// guestOf are policies of a repository, in files.
func guestOf(name string, files map[string]string) eval.Guest {
	tree := fstest.MapFS{}
	for path, text := range files {
		tree[path] = &fstest.MapFile{Data: []byte(text)}
	}
	return eval.Guest{
		Digest: name, Tree: policy.Tree{Name: "repository:" + name, FS: tree, Prefix: name}, Base: embedded,
		Limits: eval.Limits{Timeout: time.Second, Workers: 1}, Program: eval.Self(),
	}
}

// folderOf is the folder of a file of policies.
func folderOf(text string) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(text, "package policies."), "\n")
	return strings.ReplaceAll(name, ".", "/") + "/x.rego"
}

// trusting is a world in which repositories at some paths have these policies.
func trusting(world document, policies string, worktrees []any, paths ...string) document {
	var projects []any
	for _, path := range paths {
		projects = append(projects, map[string]any{
			"path": path, "file": path + "/.winnow/config.yaml", "state": "trusted", "worktrees": worktrees, "policies": policies,
			"protected": []any{}, "holds": []any{}, "off": []any{},
		})
	}
	return incidents.Merge(world, map[string]any{"projects": projects})
}

// loads makes sure that what comes of policies does not come of their being refused.
func loads(t *testing.T, g eval.Guest) {
	t.Helper()
	if _, err := eval.CheckGuest(t.Context(), g); err != nil {
		t.Fatalf("%s: %v", g.Digest, err)
	}
}

// part is of how many worlds one is taken.
const part = 4

// TestAttackARepositorysPoliciesOnlyKeep lets policies of repositories say anything that they can, in worlds of the cases, and wants nothing to go that
// stayed without them. Where the policies are not here everything in the repository stays.
func TestAttackARepositorysPoliciesOnlyKeep(t *testing.T) {
	if attack.Raced {
		t.Skip("hundreds of worlds are decided by several processes: without the race detector, as .ci/run does")
	}
	t.Parallel()
	a := attack.New(t, "a trusted repository's policies say anything that they can, in worlds of the cases: nothing that stayed is reaped")
	alone, with := shipped(t), shipped(t)
	var guests []eval.Guest
	names := slices.Sorted(maps.Keys(repositories))
	for _, name := range names {
		guests = append(guests, guestOf(name, map[string]string{folderOf(repositories[name]): repositories[name]}))
		loads(t, guests[len(guests)-1])
	}
	with.Admit(guests...)
	t.Cleanup(func() { _ = with.Close() })
	names = append(names, "not here")
	all := cases(t)
	said := map[string]int{}
	for n, name := range slices.Sorted(maps.Keys(all)) {
		if n%part != 0 {
			continue
		}
		c := all[name]
		config, world := configOf(t, c), without(worldOf(t, c), []string{"projects"})
		before, err := alone.Decide(t.Context(), parse(t, world), config)
		if err != nil {
			t.Fatal(err)
		}
		was := reaped(parse(t, world), before.Decisions)
		policies := names[n/part%len(names)]
		now := parse(t, trusting(world, policies, []any{"/w"}, "/w/acme", "/home/u"))
		after, err := with.Decide(t.Context(), now, config)
		if err != nil {
			t.Fatal(err)
		}
		wrong := ""
		for _, d := range after.Decisions {
			if d.Verdict == decision.Reap && !was[d.ID] {
				wrong = name + ", with policies that say " + policies + ": " + d.ID + " is reaped"
			}
			for _, o := range d.Objections {
				if o.Evidence["repository"] != nil {
					said[policies+" "+o.Rule]++
				}
			}
		}
		a.Check(wrong)
	}
	for _, want := range []string{
		"everything protect.repository.own", "folders protect.repository.own", "unknown protect.repository.own", "like a decision protect.repository.own",
		"like another rule protect.repository.seen_once_too", "too much " + decision.PolicyError, "an error " + decision.PolicyError, "not here " + decision.RuleUnknown,
	} {
		if said[want] == 0 {
			t.Errorf("%s: nothing was kept by it, so this shows nothing; what was: %v", want, said)
		}
	}
	if said["nothing protect.repository.own"] != 0 {
		t.Error("policies that object to nothing kept something")
	}
}

// TestAttackARepositorysPoliciesNeverEnd wants that rules of a repository that never end keep what lies in it, which is reported, and that what lies
// elsewhere is decided as without them.
func TestAttackARepositorysPoliciesNeverEnd(t *testing.T) {
	t.Parallel()
	endless := objecting("{}", tens+"some a in xs\n\tsome b in xs\n\tsome c in xs\n\tsome d in xs\n\tsome e in xs\n\tsome f in xs\n\tsome g in xs\n\tsome h in xs\n\ta + b + c + d + e + f + g + h == 91")
	g := guestOf("endless", map[string]string{folderOf(endless): endless})
	g.Limits.Timeout = 100 * time.Millisecond
	loads(t, g)
	e := shipped(t)
	e.Admit(g)
	t.Cleanup(func() { _ = e.Close() })
	c := Case{}
	config, world := configOf(t, c), without(worldOf(t, c), []string{"projects"})
	before := decide(t, e, config, world)
	path := ""
	for _, id := range slices.Sorted(maps.Keys(before)) {
		if dir, ok := strings.CutPrefix(id, "dir:"); ok && before[id].Verdict == decision.Reap {
			path = dir
		}
	}
	res, err := e.Decide(t.Context(), parse(t, trusting(world, "endless", []any{}, path)), config)
	if err != nil {
		t.Fatal(err)
	}
	kept, same := 0, 0
	for _, d := range res.Decisions {
		was := before[d.ID]
		switch {
		case slices.ContainsFunc(d.Objections, func(o decision.Reason) bool { return o.Rule == decision.PolicyError && o.Evidence["repository"] != nil }):
			kept++
		case was != nil && was.Verdict == decision.Reap && d.Verdict == decision.Reap:
			same++
		}
		if was == nil || d.Verdict == decision.Reap && was.Verdict != decision.Reap {
			t.Errorf("%s is decided otherwise: %v, was %v", d.ID, d.Verdict, was)
		}
	}
	if kept == 0 || same == 0 || len(res.Errors) != kept {
		t.Errorf("%d are kept for it, %d go as before, %d are reported; want some of each, and every one that is kept reported", kept, same, len(res.Errors))
	}
}

// TestAttackWhatARepositorysPoliciesMayNotBe wants each attempt at more than keeping refused by name, with its file.
func TestAttackWhatARepositorysPoliciesMayNotBe(t *testing.T) {
	t.Parallel()
	a := attack.New(t, "a repository's policies hold a finding, a shipped package, a layer.yaml, data, another built-in: refused by name")
	keep := objecting("{}", "input.kind")
	good := folderOf(keep)
	for name, try := range map[string]struct{ path, text, says string }{
		"a finding": {"reap/dirs/own/own.rego",
			"package policies.reap.dirs.own\n\nin_scope if input.kind == \"dir\"\n\nfindings contains {\"rule\": \"reap.dirs.own\", \"message\": \"\", \"evidence\": {}} if in_scope\n",
			"package policies.reap.dirs.own is in a repository's policies, which can only keep"},
		"shared predicates":   {"lib/own/own.rego", "package policies.lib.own\n\nx := 1\n", "package policies.lib.own is in a repository's policies"},
		"the levels":          {"lib/levels/more.rego", "package policies.lib.levels\n\ncounting := {\"reap.dirs.landed\"}\n", "package policies.lib.levels is in a repository's policies"},
		"the verdict":         {"main/main.rego", "package policies.main\n\ndecision := {\"verdict\": \"reap\"}\n", "package policies.main is in a repository's policies"},
		"a shipped rule":      {"protect/live/more.rego", strings.ReplaceAll(keep, "protect.own", "protect.live"), "package policies.protect.live is also in "},
		"a deeper package":    {"protect/repository/own/own.rego", strings.ReplaceAll(keep, "protect.own", "protect.repository.own"), "nothing asks package"},
		"an outside package":  {"system/log/mask.rego", "package system.log\n\nmask contains \"/input\"\n", "nothing asks package system.log"},
		"the rule of another": {good, strings.Replace(keep, `"rule": "protect.own"`, `"rule": "reap.dirs.landed"`, 1), "is not its package"},
		"another input":       {good, objecting("{}", "input.kind with input as {\"kind\": \"dir\"}"), "with outside a test"},
		"the network":         {good, objecting("{}", "http.send({\"method\": \"get\", \"url\": \"http://localhost\"}).status_code == 200"), "http.send is not allowed"},
		"a layer":             {"layer.yaml", "grants: [reap.*]\n", "a repository's policies are granted nothing"},
		"a manifest's layer":  {".manifest", `{"metadata": {"winnow": {"layer": "grants: [reap.*]"}}}`, "a repository's policies are granted nothing"},
		"data":                {"data.yaml", "x: 1\n", "rules here cannot read data"},
		"parameters":          {good, "# METADATA\n# title: x\n# custom:\n#   own: {x: {type: number, default: 1}}\n" + keep, "a repository's rules have no parameters"},
	} {
		_, err := eval.CheckGuest(t.Context(), guestOf("r", map[string]string{good: keep, try.path: try.text}))
		var refused policy.Refusals
		if wrong := name + ": " + errorText(err); err == nil || !errors.As(err, &refused) || !strings.Contains(err.Error(), try.says) || !strings.Contains(err.Error(), try.path) {
			a.Check(wrong)
		} else {
			a.Check("")
		}
	}
	rules, err := eval.CheckGuest(t.Context(), guestOf("r", map[string]string{good: keep}))
	if err != nil || len(rules) != 1 || rules["protect.repository.own"].Line != 3 {
		t.Errorf("one that keeps is refused: %v, %v", rules, err)
	}
}

func errorText(err error) string {
	if err == nil {
		return "it is not refused"
	}
	return err.Error()
}
