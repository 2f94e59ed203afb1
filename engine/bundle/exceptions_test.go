package bundle_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/winnow-reaper/winnow/engine/bundle"
	"github.com/winnow-reaper/winnow/engine/policy"
	"github.com/winnow-reaper/winnow/test/kit/must"
	"github.com/winnow-reaper/winnow/test/kit/stockopa"
)

const excepted = `# what we keep
exceptions:
  - match: {path: ~/code/acme}
    why: the measurement runs
    who: ann
    until: 2026-12-01
    rules: [reap.dirs.scratch]
`

// exceptionsOf reads those of a bundle, as a policy does.
func exceptionsOf(t *testing.T, b *bundle.Bundle) *policy.Sources {
	t.Helper()
	s := must.Get(policy.Read(t.Context(), policy.LoadOptions{Trees: []policy.Tree{b.Tree("mine", "bundle:mine")}}))(t)
	must.Do(t, s.Err())
	return s
}

func files() map[string]string {
	return map[string]string{"reap/dirs/scratch/scratch.rego": scratch, policy.ExceptionsName: excepted}
}

// TestABundleCarriesExceptions holds that they come out as they went in, with the lines that they had, and that opa reads the bundle and sees them as data.
func TestABundleCarriesExceptions(t *testing.T) {
	t.Parallel()
	dir, key := t.TempDir(), newEC(t)
	for roots, want := range map[string]string{"": "policies", `{"roots": ["policies/reap"]}`: "policies/reap policies/exceptions"} {
		of := files()
		if roots != "" {
			of[".manifest"] = roots
		}
		data, b := build(t, bundle.BuildOptions{Tree: tree(of), Signing: &bundle.Signing{KeyID: "acme", Algorithm: "ES256", Key: key.privatePEM}})
		must.Equal(t, want, strings.Join(b.Roots, " "), "roots")
		b, err := bundle.Read(data, &bundle.Verification{KeyID: "acme", Algorithm: "ES256", Key: key.publicPEM})
		must.Do(t, err)
		all := exceptionsOf(t, b).Exceptions()
		must.Equal(t, 1, len(all), "exceptions")
		x := all[0]
		must.Equal(t, "ann ~/code/acme bundle:mine/exceptions.yaml", x.Who+" "+x.Match.Path+" "+x.File, "the exception")
		must.Equal(t, 3, x.Line, "the line that it had")
		must.Equal(t, "reap.dirs.scratch", strings.Join(x.Rules, " "), "rules")
		path := write(t, filepath.Join(dir, "b.tar.gz"), data)
		stockopa.Must(t, dir, "build", "-b", path, "-o", filepath.Join(dir, "again.tar.gz"), "--verification-key", key.public, "--verification-key-id", "acme", "--signing-alg", "ES256")
		must.Equal(t, "ann", strings.TrimSpace(stockopa.Must(t, dir, "eval", "-b", path, "-f", "raw", "data.policies.exceptions[0].who")), "what opa reads")
	}
}

// TestExceptionsInBundlesOfStockOPA holds that opa build without --bundle keeps them, that with it they are not in the bundle, and that a folder which opa sign signed
// may be packed with them.
func TestExceptionsInBundlesOfStockOPA(t *testing.T) {
	t.Parallel()
	dir, key := t.TempDir(), newEC(t)
	for name, text := range files() {
		write(t, filepath.Join(dir, "rules", name), []byte(text))
	}
	for flag, want := range map[string]int{"--v1-compatible": 1, "--bundle": 0} {
		path := filepath.Join(t.TempDir(), "b.tar.gz")
		stockopa.Must(t, dir, "build", flag, "rules", "-o", path)
		b := must.Get(bundle.Read(must.Get(os.ReadFile(path))(t), nil))(t)
		all := exceptionsOf(t, b).Exceptions()
		must.Equal(t, want, len(all), "exceptions with %s", flag)
		if want == 1 && (all[0].Line != 0 || all[0].Until != "2026-12-01") {
			t.Errorf("%+v", all[0])
		}
	}
	sign := []string{"sign", "--bundle", "rules", "-o", dir, "--signing-key", key.private, "--signing-alg", "ES256"}
	stockopa.Must(t, dir, sign...)
	packed := map[string]string{".signatures.json": string(must.Get(os.ReadFile(filepath.Join(dir, ".signatures.json")))(t))}
	for name, text := range files() {
		packed["rules/"+name] = text
	}
	v := &bundle.Verification{KeyID: "default", Algorithm: "ES256", Key: key.publicPEM}
	b := must.Get(bundle.Read(pack(t, packed), v))(t)
	must.Equal(t, 3, exceptionsOf(t, b).Exceptions()[0].Line, "the line of a packed file")
	packed["rules/"+policy.ExceptionsName] = strings.Replace(excepted, "ann", "eve", 1)
	if _, err := bundle.Read(pack(t, packed), v); err == nil {
		t.Error("exceptions that were changed after they were signed are used")
	}
}

// TestExceptionsOfABundleAreNeverPassedOver has those that lie where they are not read, and those that are there twice.
func TestExceptionsOfABundleAreNeverPassedOver(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ path, text, want string }{
		"in a folder":          {"reap/exceptions.yaml", excepted, "would be passed over"},
		"by another ending":    {"exceptions.yml", excepted, "would be passed over"},
		"beside other data":    {"data.json", `{"exceptions": [], "names": []}`, "data"},
		"below something else": {"data.json", `{"policies": {"exceptions": [], "x": 1}}`, "data"},
		"in a folder's data":   {"reap/data.json", `{"exceptions": []}`, "data"},
	} {
		_, err := bundle.Read(pack(t, map[string]string{"reap/dirs/scratch/scratch.rego": scratch, c.path: c.text}), nil)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	twice := map[string]string{"reap/dirs/scratch/scratch.rego": scratch, "data.json": `{"exceptions": []}`, "exceptions.yaml": excepted}
	if _, err := bundle.Read(pack(t, twice), nil); err == nil || !strings.Contains(err.Error(), "data.json and in exceptions.yaml") {
		t.Errorf("twice: %v", err)
	}
	wrong := map[string]string{"reap/dirs/scratch/scratch.rego": scratch, "data.json": `{"exceptions": [{"match": {"label": "x"}, "why": "y", "who": "z"}]}`}
	b := must.Get(bundle.Read(pack(t, wrong), nil))(t)
	if _, err := policy.Load(t.Context(), policy.LoadOptions{Trees: []policy.Tree{b.Tree("mine", "bundle:mine")}}); err == nil || !strings.Contains(err.Error(), "bundle:mine/exceptions.yaml: exceptions[0].until is missing") {
		t.Errorf("one without an end: %v", err)
	}
}
