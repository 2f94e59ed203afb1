package bundle_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/winnow-reaper/winnow/engine/bundle"
	"github.com/winnow-reaper/winnow/engine/policy"
	"github.com/winnow-reaper/winnow/policies"
	"github.com/winnow-reaper/winnow/test/kit/must"
	"github.com/winnow-reaper/winnow/test/kit/stage"
	"github.com/winnow-reaper/winnow/test/kit/stockopa"
)

const scratch = `package policies.reap.dirs.scratch

in_scope if startswith(input.dir.name, "scratch-")

findings contains {"rule": "reap.dirs.scratch", "message": "it has that name", "evidence": {}} if in_scope
`

const scratchTest = `package policies.reap.dirs.scratch_test

import data.policies.reap.dirs.scratch

test_in_scope if scratch.in_scope with input.dir.name as "scratch-1"
`

// tree is a small folder of rules.
func tree(more map[string]string) policy.Tree {
	files := fstest.MapFS{
		"reap/dirs/scratch/scratch.rego":      {Data: []byte(scratch)},
		"reap/dirs/scratch/scratch_test.rego": {Data: []byte(scratchTest)},
	}
	for p, text := range more {
		files[p] = &fstest.MapFile{Data: []byte(text)}
	}
	return policy.Tree{Name: "mine", FS: files}
}

func build(t *testing.T, o bundle.BuildOptions) ([]byte, *bundle.Bundle) {
	t.Helper()
	data, b, err := bundle.Build(t.Context(), o)
	must.Do(t, err)
	return data, b
}

func write(t *testing.T, path string, data []byte) string {
	t.Helper()
	must.Do(t, os.MkdirAll(filepath.Dir(path), 0o700))
	must.Do(t, os.WriteFile(path, data, 0o600))
	return path
}

// loads is an error unless the policies of a bundle load beside the shipped ones.
func loads(t *testing.T, b *bundle.Bundle) (*policy.Policy, error) {
	t.Helper()
	return policy.Load(t.Context(), policy.LoadOptions{Trees: []policy.Tree{{Name: "embedded", FS: policies.Files}, b.Tree("bundle:mine", "bundle:mine")}})
}

func TestTheSameFilesAreTheSameBytes(t *testing.T) {
	t.Parallel()
	key := newRSA(t)
	o := bundle.BuildOptions{Tree: tree(nil), Revision: "r1", Serial: 7, Signing: &bundle.Signing{KeyID: "k", Algorithm: "RS256", Key: key.privatePEM, Scope: "s"}}
	one, b := build(t, o)
	two, _ := build(t, o)
	if !bytes.Equal(one, two) {
		t.Error("the same files gave other bytes")
	}
	if sum := fmt.Sprintf("sha256:%x", sha256.Sum256(one)); b.Digest != sum || b.Revision != "r1" || b.Serial != 7 || !b.Signed || !slices.Equal(b.Roots, []string{"policies"}) {
		t.Errorf("want digest %s, revision r1, serial 7 and a signature, got %+v", sum, b)
	}
	if slices.ContainsFunc(b.Files, func(p string) bool { return strings.HasSuffix(p, "_test.rego") }) {
		t.Errorf("tests are in it unasked: %q", b.Files)
	}
	o.Tests = true
	if _, with := build(t, o); len(with.Files) != len(b.Files)+1 || with.Content == b.Content {
		t.Errorf("the test is not in it: %q", with.Files)
	}
	o.Tests, o.Signing = false, nil
	if _, bare := build(t, o); bare.Content != b.Content || bare.Digest == b.Digest || bare.Signed {
		t.Errorf("the signature counts as content: %+v and %+v", bare, b)
	}
}

func TestWhatTheManifestSaysStays(t *testing.T) {
	stage.NeedSecond(t, "it builds OPA's own program")
	t.Parallel()
	own := `{"revision": "2.0", "roots": ["policies/reap"], "metadata": {"team": "infra", "winnow": {"serial": 4, "note": "x"}}}`
	data, b := build(t, bundle.BuildOptions{Tree: tree(map[string]string{".manifest": own})})
	if b.Revision != "2.0" || b.Serial != 4 || !slices.Equal(b.Roots, []string{"policies/reap"}) {
		t.Errorf("want what the manifest says, got %+v", b)
	}
	path := write(t, filepath.Join(t.TempDir(), "b.tar.gz"), data)
	if out := stockopa.Must(t, "/", "inspect", path, "-f", "json"); !strings.Contains(out, `"team": "infra"`) || !strings.Contains(out, `"note": "x"`) {
		t.Errorf("opa inspect: %s", out)
	}
	_, b = build(t, bundle.BuildOptions{Tree: tree(map[string]string{".manifest": own}), Revision: "3.0", Serial: 9})
	if b.Revision != "3.0" || b.Serial != 9 {
		t.Errorf("want revision 3.0 and serial 9, got %+v", b)
	}
}

// TestStockOPAReadsOurs holds that OPA's own program verifies, inspects and evaluates what is built here.
func TestStockOPAReadsOurs(t *testing.T) {
	stage.NeedSecond(t, "it builds OPA's own program")
	t.Parallel()
	dir := t.TempDir()
	keys := map[string]pair{"ES256": newEC(t), "RS256": newRSA(t), "PS384": newRSA(t)}
	secret := write(t, filepath.Join(dir, "secret"), []byte("not so long a secret\n"))
	keys["HS256"] = pair{private: secret, public: secret, privatePEM: secret, publicPEM: "not so long a secret\n"}
	for alg, key := range keys {
		data, _ := build(t, bundle.BuildOptions{Tree: policy.Tree{Name: "embedded", FS: policies.Files},
			Signing: &bundle.Signing{KeyID: "acme", Algorithm: alg, Scope: "prod", Key: key.privatePEM}})
		path := write(t, filepath.Join(dir, alg+".tar.gz"), data)
		verify := []string{"build", "-b", path, "-o", filepath.Join(dir, alg+"-again.tar.gz"), "--verification-key", key.public, "--verification-key-id", "acme", "--signing-alg", alg}
		stockopa.Must(t, dir, append(verify, "--scope", "prod")...)
		if out, err := stockopa.Run(t, dir, append(verify, "--scope", "other")...); err == nil {
			t.Errorf("%s: opa takes another scope: %s", alg, out)
		}
		if b, err := bundle.Read(data, &bundle.Verification{KeyID: "acme", Algorithm: alg, Scope: "prod", Key: key.publicPEM}); err != nil || b.KeyID != "acme" {
			t.Errorf("%s: want what opa verifies to be verified, got %v", alg, err)
		}
	}
	plain, _ := build(t, bundle.BuildOptions{Tree: policy.Tree{Name: "embedded", FS: policies.Files}})
	path := write(t, filepath.Join(dir, "plain.tar.gz"), plain)
	input := write(t, filepath.Join(dir, "input.json"), []byte(`{"kind": "dir", "dir": {"name": "x"}}`))
	ask := []string{"-i", input, "-f", "raw", "data.policies.main.decision"}
	ours := stockopa.Must(t, dir, append([]string{"eval", "-b", path}, ask...)...)
	theirs := stockopa.Must(t, must.Get(filepath.Abs("../../policies"))(t), append([]string{"eval", "-d", "."}, ask...)...)
	if ours != theirs || !strings.Contains(ours, `"verdict":"spare"`) {
		t.Errorf("the bundle decides %s, the folder %s", ours, theirs)
	}
}

// TestBundlesOfStockOPA holds that what opa build and opa sign make is read, wherever the folder was.
func TestBundlesOfStockOPA(t *testing.T) {
	stage.NeedSecond(t, "it builds OPA's own program")
	t.Parallel()
	dir, key := t.TempDir(), newEC(t)
	write(t, filepath.Join(dir, "rules/reap/dirs/scratch/scratch.rego"), []byte(scratch))
	write(t, filepath.Join(dir, "rules/reap/dirs/scratch/scratch_test.rego"), []byte(scratchTest))
	sign := []string{"--signing-key", key.private, "--signing-alg", "ES256"}
	verification := &bundle.Verification{KeyID: "default", Algorithm: "ES256", Key: key.publicPEM}
	for name, folder := range map[string]string{"by its name": "rules", "by its path": filepath.Join(dir, "rules"), "from inside": "."} {
		in := dir
		if folder == "." {
			in = filepath.Join(dir, "rules")
		}
		path := filepath.Join(t.TempDir(), "b.tar.gz")
		stockopa.Must(t, in, append([]string{"build", "-b", folder, "-o", path, "-r", "r9"}, sign...)...)
		b, err := bundle.Read(must.Get(os.ReadFile(path))(t), verification)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		p, err := loads(t, b)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if rule := p.Rule("reap.dirs.scratch"); b.Revision != "r9" || rule.File != "bundle:mine/reap/dirs/scratch/scratch.rego" {
			t.Errorf("%s: revision %q, rule in %q", name, b.Revision, rule.File)
		}
	}

	stockopa.Must(t, dir, append([]string{"sign", "--bundle", "rules", "-o", dir}, sign...)...)
	files := map[string]string{}
	for _, p := range []string{".signatures.json", "rules/reap/dirs/scratch/scratch.rego", "rules/reap/dirs/scratch/scratch_test.rego"} {
		files[p] = string(must.Get(os.ReadFile(filepath.Join(dir, p)))(t))
	}
	if _, err := bundle.Read(pack(t, files), verification); err != nil {
		t.Errorf("opa sign and tar: %v", err)
	}
}

// entry is one of an archive.
type entry struct {
	tar.Header
	data string
}

func archive(t *testing.T, entries ...entry) []byte {
	t.Helper()
	var out bytes.Buffer
	gz := must.Get(gzip.NewWriterLevel(&out, gzip.BestSpeed))(t)
	tw := tar.NewWriter(gz)
	for _, e := range entries {
		if e.Typeflag == 0 {
			e.Typeflag = tar.TypeReg
		}
		if e.Typeflag != tar.TypeXGlobalHeader {
			e.Size, e.Mode = int64(len(e.data)), 0o600
		}
		must.Do(t, tw.WriteHeader(&e.Header))
		must.Get(io.WriteString(tw, e.data))(t)
	}
	must.Do(t, tw.Close())
	must.Do(t, gz.Close())
	return out.Bytes()
}

func pack(t *testing.T, files map[string]string) []byte {
	t.Helper()
	var entries []entry
	for p, text := range files {
		entries = append(entries, entry{tar.Header{Name: p}, text})
	}
	return archive(t, entries...)
}

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
	stage.NeedSecond(t, "it builds OPA's own program")
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
	stage.NeedSecond(t, "it builds OPA's own program")
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
