package bundle_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/winnow-reaper/winnow/engine/bundle"
	"github.com/winnow-reaper/winnow/test/kit/attack"
	"github.com/winnow-reaper/winnow/test/kit/must"
)

func TestAttackArchives(t *testing.T) {
	t.Parallel()
	rule := entry{tar.Header{Name: "reap/dirs/scratch/scratch.rego"}, scratch}
	file := func(name, text string) []byte { return archive(t, rule, entry{tar.Header{Name: name}, text}) }
	link := func(kind byte, name, to string) []byte {
		return archive(t, rule, entry{tar.Header{Name: name, Typeflag: kind, Linkname: to}, ""})
	}
	many := make([]entry, 6000)
	for i := range many {
		many[i].Name = fmt.Sprintf("schemas/%d.json", i)
	}
	whole := archive(t, rule)
	a := attack.New(t, "a bundle with links, devices, paths outside of it, a bomb, or what OPA would load and Winnow would not")
	for name, c := range map[string]struct {
		data []byte
		says string
	}{
		"no gzip":                  {[]byte("policies"), "no gzip file"},
		"nothing":                  {archive(t), "nothing is in it"},
		"cut short":                {whole[:len(whole)/2], "unexpected EOF"},
		"a bomb":                   {file("schemas/x.json", strings.Repeat("0", 17<<20)), "unpacked it has more"},
		"a bomb of gzip alone":     {zeros(t, 17<<20), "unpacked it has more"},
		"packed too large":         {make([]byte, bundle.Max+1), "are the most"},
		"many files":               {archive(t, many...), "more than 5000 files"},
		"a symbolic link":          {link(tar.TypeSymlink, "reap/dirs/x/x.rego", "/etc/passwd"), "no regular file"},
		"a hard link":              {link(tar.TypeLink, "reap/dirs/x/x.rego", "reap/dirs/scratch/scratch.rego"), "no regular file"},
		"a device":                 {link(tar.TypeChar, "reap/dirs/x/x.rego", ""), "no regular file"},
		"a FIFO":                   {link(tar.TypeFifo, "reap/dirs/x/x.rego", ""), "no regular file"},
		"a path that leads out":    {file("../reap/dirs/x/x.rego", scratch), "leads out of the bundle"},
		"a path that turns":        {file("reap/../../x.rego", scratch), "leads out of the bundle"},
		"two slashes":              {file("//reap/dirs/x/x.rego", scratch), "leads out of the bundle"},
		"a name for the terminal":  {file("reap/\x1b[2J/x.rego", scratch), "cannot be printed"},
		"a long name":              {file(strings.Repeat("x/", 300)+"x.rego", scratch), "longer than"},
		"a file twice":             {archive(t, rule, rule), "is in it twice"},
		"twice by two names":       {archive(t, rule, entry{tar.Header{Name: "/" + rule.Name}, "package x"}), "is in it twice"},
		"data":                     {file("data.json", `{"allow": true}`), "cannot read data"},
		"data in a folder":         {file("reap/dirs/scratch/data.yaml", "a: &a [1]\nb: [*a, *a]\n"), "cannot read data"},
		"WebAssembly":              {file("policy.wasm", "x"), "compiled to WebAssembly"},
		"a plan":                   {file("plan.json", "{}"), "compiled to a plan"},
		"a delta":                  {file("patch.json", `{"data": []}`), "delta bundle"},
		"a manifest in protobuf":   {file(".manifest.pb", "x"), "protobuf"},
		"a rule that is hidden":    {file("lib/.x/x.rego", scratch), "is hidden"},
		"two manifests":            {archive(t, rule, entry{tar.Header{Name: ".manifest"}, "{}"}, entry{tar.Header{Name: "lib/.manifest"}, "{}"}), "two manifests"},
		"a second name for it":     {file("x.manifest", "{}"), "takes x.manifest in it for a manifest"},
		"a manifest that is wrong": {file(".manifest", `{"roots": "policies"}`), "manifest cannot be read"},
		"a huge manifest":          {file(".manifest", `{"revision": "`+strings.Repeat("r", 70000)+`"}`), "are the most"},
		"other roots":              {file(".manifest", `{"roots": ["system"]}`), "is none of Winnow's"},
		"a root like ours":         {file(".manifest", `{"roots": ["policies2"]}`), "is none of Winnow's"},
		"a serial of letters":      {file(".manifest", `{"metadata": {"winnow": {"serial": "9"}}}`), "is no serial"},
		"a serial below zero":      {file(".manifest", `{"metadata": {"winnow": {"serial": -1}}}`), "is no serial"},
		"a serial without end":     {file(".manifest", `{"metadata": {"winnow": {"serial": 9007199254740993}}}`), "is no serial"},
	} {
		switch b, err := bundle.Read(c.data, nil); {
		case err == nil:
			a.Lost("%s: it was read: %+v", name, b)
		case !strings.Contains(err.Error(), c.says) || !errors.As(err, new(bundle.Refused)):
			a.Lost("%s: want a refusal with %q, got %v", name, c.says, err)
		default:
			a.Held()
		}
	}
	for name, data := range map[string][]byte{
		"what opa writes":       file("/data.json", "{}\n"),
		"a folder and ./ names": archive(t, entry{tar.Header{Name: "./", Typeflag: tar.TypeDir}, ""}, entry{tar.Header{Name: "./reap/dirs/scratch/scratch.rego"}, scratch}),
		"other files":           file("README.md", "x"),
		"git archive":           archive(t, entry{tar.Header{Typeflag: tar.TypeXGlobalHeader, PAXRecords: map[string]string{"comment": "x"}}, ""}, rule),
	} {
		if _, err := bundle.Read(data, nil); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// zeros is a file that unpacks to so many bytes of zero, which are no archive.
func zeros(t *testing.T, n int64) []byte {
	t.Helper()
	var out bytes.Buffer
	gz := must.Get(gzip.NewWriterLevel(&out, gzip.BestSpeed))(t)
	tw := tar.NewWriter(gz)
	must.Do(t, tw.WriteHeader(&tar.Header{Name: "x", Typeflag: tar.TypeReg, Size: n}))
	must.Get(io.CopyN(gz, zero{}, n))(t)
	must.Do(t, gz.Close())
	return out.Bytes()
}

type zero struct{}

func (zero) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func TestAttackSignatures(t *testing.T) {
	t.Parallel()
	ours, theirs := newEC(t), newEC(t)
	v := bundle.Verification{KeyID: "acme", Algorithm: "ES256", Scope: "prod", Key: ours.publicPEM}
	make := func(s *bundle.Signing) map[string]string {
		data, _ := build(t, bundle.BuildOptions{Tree: tree(nil), Revision: "r", Serial: 1, Signing: s})
		return unpacked(t, data)
	}
	good := func() map[string]string {
		return make(&bundle.Signing{KeyID: "acme", Algorithm: "ES256", Scope: "prod", Key: ours.privatePEM})
	}
	changed := func(change func(map[string]string)) map[string]string {
		files := good()
		change(files)
		return files
	}
	if b, err := bundle.Read(pack(t, good()), &v); err != nil || b.KeyID != "acme" {
		t.Fatalf("a signed bundle: %v", err)
	}
	const rule = "reap/dirs/scratch/scratch.rego"
	secret := write(t, filepath.Join(t.TempDir(), "secret"), []byte(ours.publicPEM))
	a := attack.New(t, "a bundle that is unsigned, signed by another key or for another scope, or changed after it was signed")
	for name, c := range map[string]struct {
		files map[string]string
		says  string
	}{
		"unsigned":                    {make(nil), "it is not signed"},
		"another key":                 {make(&bundle.Signing{KeyID: "acme", Algorithm: "ES256", Scope: "prod", Key: theirs.privatePEM}), "not of key"},
		"another key by another name": {make(&bundle.Signing{KeyID: "other", Algorithm: "ES256", Scope: "prod", Key: theirs.privatePEM}), "not of key"},
		"another scope":               {make(&bundle.Signing{KeyID: "acme", Algorithm: "ES256", Scope: "test", Key: ours.privatePEM}), "not for the scope"},
		"no scope":                    {make(&bundle.Signing{KeyID: "acme", Algorithm: "ES256", Key: ours.privatePEM}), "not for the scope"},
		"the public key as a secret":  {make(&bundle.Signing{KeyID: "acme", Algorithm: "HS256", Scope: "prod", Key: secret}), "not of key"},
		"no algorithm":                {changed(func(f map[string]string) { f[".signatures.json"] = unsecured(t, f[".signatures.json"]) }), "not of key"},
		"an empty signature":          {changed(func(f map[string]string) { f[".signatures.json"] = `{"signatures": []}` }), "not of key"},
		"a signature of another tool": {changed(func(f map[string]string) { f[".signatures.json"] = `{"plugin": "x", "signatures": ["a.b.c"]}` }), "not of key"},
		"a signature that is no JSON": {changed(func(f map[string]string) { f[".signatures.json"] = `x` }), "cannot be read"},
		"a rule that was edited":      {changed(func(f map[string]string) { f[rule] += "\n" }), "does not cover"},
		"a rule that was added":       {changed(func(f map[string]string) { f["lib/x/x.rego"] = "package policies.lib.x" }), "does not cover"},
		"a rule that was taken out":   {changed(func(f map[string]string) { delete(f, rule) }), "which is not in it"},
		"a rule that was moved":       {changed(func(f map[string]string) { f["lib/"+rule] = f[rule]; delete(f, rule) }), "does not cover"},
		"another revision":            {changed(func(f map[string]string) { f[".manifest"] = strings.Replace(f[".manifest"], `"r"`, `"s"`, 1) }), "does not cover"},
		"another serial": {changed(func(f map[string]string) {
			f[".manifest"] = strings.Replace(f[".manifest"], `"serial":1`, `"serial":2`, 1)
		}), "does not cover"},
		"a README that was added":    {changed(func(f map[string]string) { f["README.md"] = "x" }), "does not cover"},
		"a manifest without end":     {changed(func(f map[string]string) { f[".manifest"] = strings.Repeat(" ", 70000) + f[".manifest"] }), "are the most"},
		"data of blanks without end": {changed(func(f map[string]string) { f["data.json"] = strings.Repeat(" ", 70000) + "{}" }), "are the most"},
		"two files of signatures":    {changed(func(f map[string]string) { f["lib/.signatures.json"] = f[".signatures.json"] }), "more than one"},
		"a signature of another bundle": {changed(func(f map[string]string) {
			other, _ := build(t, bundle.BuildOptions{Tree: tree(map[string]string{"lib/y/y.rego": "package policies.lib.y"}),
				Signing: &bundle.Signing{KeyID: "acme", Algorithm: "ES256", Scope: "prod", Key: ours.privatePEM}})
			f[".signatures.json"] = unpacked(t, other)[".signatures.json"]
		}), "does not cover"},
	} {
		switch b, err := bundle.Read(pack(t, c.files), &v); {
		case err == nil:
			a.Lost("%s: it is verified: %+v", name, b)
		case !strings.Contains(err.Error(), c.says) || !errors.As(err, new(bundle.Refused)):
			a.Lost("%s: want a refusal with %q, got %v", name, c.says, err)
		default:
			a.Held()
		}
	}
}

func TestVerificationsThatTrustNothingOrAnything(t *testing.T) {
	t.Parallel()
	key := newEC(t)
	for name, v := range map[string]bundle.Verification{
		"no id":                    {Algorithm: "ES256", Key: key.publicPEM},
		"no key":                   {KeyID: "k", Algorithm: "ES256"},
		"an empty secret":          {KeyID: "k", Algorithm: "HS256"},
		"a public key as a secret": {KeyID: "k", Algorithm: "HS256", Key: key.publicPEM},
		"a private key":            {KeyID: "k", Algorithm: "ES256", Key: key.privatePEM},
		"no algorithm":             {KeyID: "k", Key: key.publicPEM},
		"none":                     {KeyID: "k", Algorithm: "none", Key: key.publicPEM},
		"text":                     {KeyID: "k", Algorithm: "ES256", Key: "text"},
	} {
		if v.Check() == nil {
			t.Errorf("%s: it is in order", name)
		}
	}
	if err := (bundle.Verification{KeyID: "k", Algorithm: "ES256", Key: key.publicPEM}).Check(); err != nil {
		t.Error(err)
	}
}

// unsecured is a file of signatures whose token says that it needs none.
func unsecured(t *testing.T, text string) string {
	t.Helper()
	var sc struct {
		Signatures []string `json:"signatures"`
	}
	must.Do(t, json.Unmarshal([]byte(text), &sc))
	parts := strings.Split(sc.Signatures[0], ".")
	parts[0] = base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none","kid":"acme","typ":"JWT"}`))
	sc.Signatures[0] = parts[0] + "." + parts[1] + "."
	return string(must.Get(json.Marshal(sc))(t))
}

// unpacked are the files of a bundle, without the slash before their names.
func unpacked(t *testing.T, data []byte) map[string]string {
	t.Helper()
	files := map[string]string{}
	tr := tar.NewReader(must.Get(gzip.NewReader(bytes.NewReader(data)))(t))
	for {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		must.Do(t, err)
		files[strings.TrimPrefix(h.Name, "/")] = string(must.Get(io.ReadAll(tr))(t))
	}
}

// FuzzRead holds that nothing that is no bundle is a panic, and that what is read is read the same way again.
func FuzzRead(f *testing.F) {
	f.Add([]byte("reap/dirs/x/x.rego"), []byte("package policies.reap.dirs.x"), []byte(`{"revision": "r", "roots": ["policies"]}`))
	f.Add([]byte("/a/../b"), []byte{}, []byte(`{"metadata": {"winnow": {"serial": 1}}}`))
	f.Fuzz(func(t *testing.T, name, text, manifest []byte) {
		var out bytes.Buffer
		gz := gzip.NewWriter(&out)
		tw := tar.NewWriter(gz)
		for _, e := range []struct {
			name string
			data []byte
		}{{string(name), text}, {".manifest", manifest}} {
			if tw.WriteHeader(&tar.Header{Name: e.name, Typeflag: tar.TypeReg, Size: int64(len(e.data)), Mode: 0o600}) != nil {
				t.Skip()
			}
			if _, err := tw.Write(e.data); err != nil {
				t.Skip()
			}
		}
		if errors.Join(tw.Close(), gz.Close()) != nil {
			t.Skip()
		}
		one, err := bundle.Read(out.Bytes(), nil)
		two, again := bundle.Read(out.Bytes(), nil)
		if (err == nil) != (again == nil) || err == nil && (one.Content != two.Content || one.Serial != two.Serial) {
			t.Errorf("read twice: %+v, %v and %+v, %v", one, err, two, again)
		}
	})
}
