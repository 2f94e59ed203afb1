// Package bundle reads, verifies and makes OPA's bundles: a compressed tar with policies, a manifest and a signature. What
// it is given may come from anybody. It reads and writes no file, but for the claims of a signature, which OPA takes in no other form.
//
// Nothing in a bundle is parsed as Rego here: that is done by package policy, in a process of its own. What is read is what OPA v1.22
// writes and reads (v1/bundle); what OPA would load and Winnow cannot use is refused, never passed over.
package bundle

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing/fstest"
	"unicode"

	"github.com/open-policy-agent/opa/v1/bundle"
	"github.com/open-policy-agent/opa/v1/keys"

	"github.com/winnow-reaper/winnow/engine/policy"
	"github.com/winnow-reaper/winnow/engine/snapshot"
)

// What a bundle may be, far more than anybody ships: the shipped policies with their tests are a hundred kilobytes, packed twenty.
const (
	// Max is how many bytes a bundle may have, packed.
	Max = 8 << 20
	// maxUnpacked and maxEntries bound what is in it.
	maxUnpacked = 16 << 20
	maxEntries  = 5000
	// maxName is how long a path may be, maxManifest how many bytes a manifest has, maxSignatures the file of signatures.
	maxName       = 512
	maxManifest   = 64 << 10
	maxSignatures = 2 << 20
	// maxSerial is the greatest number that every reader of JSON keeps exactly.
	maxSerial = 1<<53 - 1
)

// The names of the files that OPA itself knows, by their last part.
const (
	manifestName   = ".manifest"
	signaturesName = ".signatures.json"
)

// unusable are files that OPA would load and that say nothing to Winnow, by their last part.
var unusable = map[string]string{
	"policy.wasm":  "a policy that was compiled to WebAssembly",
	"plan.json":    "a policy that was compiled to a plan",
	"plan.pb":      "a policy that was compiled to a plan",
	"patch.json":   "a delta bundle, which cannot carry a signature",
	".manifest.pb": "a manifest in protobuf form",
}

// families are the folders below the one that package policies stands for.
var families = []string{"reap", "protect", "lib", "main", "observe"}

// Bundle is a bundle that was read.
type Bundle struct {
	// Revision is what its author calls it; "" where the manifest has none.
	Revision string
	// Serial grows from one bundle to the next: metadata.winnow.serial of the manifest. 0 when it is missing.
	Serial int64
	// Roots are what the manifest claims, "" for everything.
	Roots []string
	// Digest is "sha256:" and the SHA-256 of the file, Content that of all that is in it but the signature: a bundle that was signed again is
	// the same one.
	Digest, Content string
	// Signed is true where there is a signature; KeyID names the key that it was verified with, "" where it was not verified.
	Signed bool
	KeyID  string
	// Files are the paths in it, sorted.
	Files []string

	tree fstest.MapFS
	// data is true where its exceptions are data of OPA's, which may say on which line of a folder's file each stood.
	data bool
}

// Tree gives the policies of a bundle. prefix stands before a file's path in messages.
func (b *Bundle) Tree(name, prefix string) policy.Tree {
	return policy.Tree{Name: name, FS: b.tree, Prefix: prefix, Bundled: b.data}
}

// Refused is why a bundle is not used.
type Refused struct {
	// Why is the problem, Fix what to do about it.
	Why, Fix string
}

func (r Refused) Error() string { return r.Why + ": " + r.Fix }

func refuse(fix, why string, args ...any) error { return Refused{fmt.Sprintf(why, args...), fix} }

// again is what to do about a bundle that is no whole one.
const again = "make it again with winnow policy bundle or opa build"

// Read reads a bundle. With a verification it must carry a signature that this one trusts, over every file in it; without one a signature is
// not looked at. Every error is a Refused.
func Read(data []byte, v *Verification) (*Bundle, error) {
	files, err := unpack(data)
	if err != nil {
		return nil, err
	}
	b := &Bundle{Digest: fmt.Sprintf("sha256:%x", sha256.Sum256(data)), Files: slices.Sorted(maps.Keys(files)), tree: fstest.MapFS{}}
	signatures, err := b.sort(files)
	if err != nil {
		return nil, err
	}
	b.Signed = signatures != nil
	if v != nil {
		if err := v.verify(signatures, files); err != nil {
			return nil, err
		}
		b.KeyID = v.KeyID
	}
	b.Content = contentOf(files)
	if err := b.readManifest(files); err != nil {
		return nil, err
	}
	if err := b.plantExceptions(files, b.plant(files)); err != nil {
		return nil, err
	}
	return b, nil
}

// file is one file with the name that the archive has for it, which is also the signature's.
type file struct {
	name string
	data []byte
}

// unpack reads an archive into memory, by clean path. Links, devices and all else that is no file or folder is refused.
func unpack(packed []byte) (map[string]file, error) {
	if len(packed) > Max {
		return nil, refuse("make a smaller one", "it has %d bytes, and %d are the most", len(packed), Max)
	}
	gz, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, refuse(again, "it is no gzip file (%v)", err)
	}
	files, entries := map[string]file{}, 0
	limited := &io.LimitedReader{R: gz, N: maxUnpacked + 1}
	for archive := tar.NewReader(limited); ; {
		h, err := archive.Next()
		switch {
		case limited.N <= 0:
			return nil, refuse("make a smaller one", "unpacked it has more than %d bytes", maxUnpacked)
		case errors.Is(err, io.EOF):
			if entries == 0 {
				return nil, refuse(again, "nothing is in it")
			}
			return files, nil
		case err != nil:
			return nil, refuse(again, "it is no whole tar archive (%v)", err)
		}
		if entries++; entries > maxEntries {
			return nil, refuse("make a smaller one", "more than %d files and folders are in it", maxEntries)
		}
		switch h.Typeflag {
		case tar.TypeDir, tar.TypeXGlobalHeader:
			continue
		case tar.TypeReg:
		default:
			return nil, refuse("put the file itself in its place", "%s in it is no regular file (tar type %q)", shown(h.Name), h.Typeflag)
		}
		p, err := clean(h.Name)
		if err != nil {
			return nil, err
		}
		if _, twice := files[p]; twice {
			return nil, refuse(again, "%s is in it twice", p)
		}
		data, err := io.ReadAll(archive)
		if err != nil {
			if limited.N <= 0 {
				return nil, refuse("make a smaller one", "unpacked it has more than %d bytes", maxUnpacked)
			}
			return nil, refuse(again, "%s in it cannot be read (%v)", p, err)
		}
		files[p] = file{strings.TrimPrefix(h.Name, "/"), data}
	}
}

// clean is the path of an entry below the bundle's own folder. OPA writes a slash before it.
func clean(name string) (string, error) {
	p := strings.TrimPrefix(strings.TrimPrefix(name, "/"), "./")
	switch {
	case len(name) > maxName || strings.ContainsFunc(name, func(c rune) bool { return !unicode.IsPrint(c) || c == unicode.ReplacementChar }):
		return "", refuse("rename it", "the name %s in it is longer than %d bytes, or cannot be printed", shown(name), maxName)
	case !fs.ValidPath(p) || p == ".":
		return "", refuse(again, "the path %s in it leads out of the bundle, or is not clean", shown(name))
	}
	return p, nil
}

func shown(name string) string { return strconv.QuoteToASCII(name[:min(len(name), 80)]) }

// sort refuses what OPA would load and Winnow cannot use, and gives the file of signatures, nil when it is missing.
func (b *Bundle) sort(files map[string]file) (signatures []byte, err error) {
	for _, p := range b.Files {
		base, data := path.Base(p), files[p].data
		switch what := unusable[base]; {
		case what != "":
			return nil, refuse("build it with opa build --target rego, or winnow policy bundle", "%s in it is %s", p, what)
		case base == signaturesName && signatures != nil:
			return nil, refuse(again, "more than one %s is in it", signaturesName)
		case base == signaturesName && len(data) > maxSignatures:
			return nil, refuse(again, "%s in it has %d bytes, and %d are the most", p, len(data), maxSignatures)
		case base == signaturesName:
			signatures = append([]byte{}, data...)
			delete(files, p)
		case base != manifestName && strings.HasSuffix(base, manifestName):
			return nil, refuse("call it "+manifestName+", or leave it out", "OPA takes %s in it for a manifest", p)
		case base == policy.LayerFile:
			return nil, refuse("build it with winnow policy bundle, or write the text into the manifest as metadata.winnow.layer",
				"%s in it is a file that OPA's tools leave out, so a bundle has it in its manifest", p)
		case p == dataName && isExceptionsData(data):
		case policy.IsData(p):
			if err := policy.CheckData(p, data); err != nil {
				return nil, Refused{err.Error(), again}
			}
		case strings.HasSuffix(p, ".rego") && (strings.HasPrefix(p, ".") || strings.Contains(p, "/.")):
			return nil, refuse("take it out, or rename it", "%s in it is hidden: OPA would load it, and Winnow passes over such files", p)
		}
	}
	return signatures, nil
}

// manifest is OPA's own file, as far as a bundle needs it. Package policy reads the rest of it.
type manifest struct {
	Revision string                     `json:"revision"`
	Roots    *[]string                  `json:"roots"`
	Wasm     []json.RawMessage          `json:"wasm"`
	Metadata map[string]json.RawMessage `json:"metadata"`
}

func (b *Bundle) readManifest(files map[string]file) error {
	at, m := "", manifest{}
	for _, p := range b.Files {
		switch {
		case path.Base(p) != manifestName:
		case at != "":
			return refuse(again, "it has two manifests, %s and %s", at, p)
		default:
			at = p
		}
	}
	b.Roots = []string{""} // as OPA reads a bundle without one
	if at != "" {
		data := files[at].data
		if len(data) > maxManifest {
			return refuse(again, "its manifest has %d bytes, and %d are the most", len(data), maxManifest)
		}
		if err := json.Unmarshal(data, &m); err != nil {
			return refuse(`write {"revision": "...", "roots": ["policies"]}`, "its manifest cannot be read (%v)", err)
		}
		b.tree[manifestName] = &fstest.MapFile{Data: data}
	}
	if len(m.Wasm) > 0 {
		return refuse("build it with opa build --target rego", "its manifest names policies that were compiled to WebAssembly")
	}
	if m.Roots != nil && len(*m.Roots) > 0 {
		b.Roots = *m.Roots
	}
	for _, r := range b.Roots {
		if r = strings.Trim(r, "/"); r != "" && r != "policies" && !strings.HasPrefix(r, "policies/") {
			return refuse(`write "roots": ["policies"], or a folder below it, into its manifest`, "its root %s is none of Winnow's: nothing below it would be asked", shown(r))
		}
	}
	b.Revision = m.Revision
	if raw, ok := m.Metadata[policy.MetadataKey]; ok { // what Winnow writes; the text of a layer.yaml is in it too, which package policy reads
		var ours struct {
			Serial int64 `json:"serial"`
		}
		if err := json.Unmarshal(raw, &ours); err != nil || ours.Serial < 0 || ours.Serial > maxSerial {
			return refuse(fmt.Sprintf("write a whole number from 1 to %d, or leave it out", int64(maxSerial)), "metadata.winnow.serial of its manifest is no serial")
		}
		b.Serial = ours.Serial
	}
	return nil
}

// plant puts the policies where their packages belong: OPA keeps the folders that a bundle was made from before each path, and only the
// package counts for it. It gives the folder that they lie in, with its slash.
func (b *Bundle) plant(files map[string]file) (top string) {
	var rules []string
	for _, p := range b.Files {
		if strings.HasSuffix(p, ".rego") {
			rules = append(rules, p)
		}
	}
	top = topOf(rules)
	for _, p := range rules {
		b.tree[strings.TrimPrefix(p, top)] = &fstest.MapFile{Data: files[p].data}
	}
	return top
}

// topOf is the folder, with its slash, that package policies stands for: the deepest one that holds all rules, each in a folder of a family.
func topOf(rules []string) string {
	if len(rules) == 0 {
		return ""
	}
	for dir := path.Dir(rules[0]); dir != "."; dir = path.Dir(dir) {
		top := dir + "/"
		if !slices.ContainsFunc(rules, func(p string) bool {
			rest, inside := strings.CutPrefix(p, top)
			family, _, nested := strings.Cut(rest, "/")
			return !inside || !nested || !slices.Contains(families, family)
		}) {
			return top
		}
	}
	return ""
}

// contentOf covers the path and bytes of every file, each with its length before it, so that no two bundles give the same input.
func contentOf(files map[string]file) string {
	h := sha256.New()
	for _, p := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(h, "%d:%s %d:", len(p), p, len(files[p].data))
		h.Write(files[p].data)
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}

// Algorithms are those that OPA signs and verifies bundles with. The first is its default.
var Algorithms = []string{"RS256", "RS384", "RS512", "ES256", "ES384", "ES512", "PS256", "PS384", "PS512", "HS256", "HS384", "HS512"}

// Verification says which signature a bundle must carry.
type Verification struct {
	// KeyID names the key. It is the operator's choice which key counts, never the bundle's.
	KeyID string
	// Key is the public key as PEM, or the secret of an HS algorithm.
	Key string
	// Algorithm is one of Algorithms.
	Algorithm string
	// Scope is what the signature must say that it is for; "" is a signature without a scope.
	Scope string
}

// Check refuses a verification that could trust nothing, or anything.
func (v Verification) Check() error {
	switch block, _ := pem.Decode([]byte(v.Key)); {
	case v.KeyID == "":
		return refuse("name the key", "the id of the key is empty")
	case !slices.Contains(Algorithms, v.Algorithm):
		return refuse("write one of "+strings.Join(Algorithms, ", "), "the algorithm %q is not known", v.Algorithm)
	case v.Key == "":
		return refuse("name the file of the key", "the key is empty")
	case Secret(v.Algorithm) && block != nil:
		return refuse("write the algorithm of that key, such as ES256 or RS256", "the key is PEM, and %s wants a secret", v.Algorithm)
	case !Secret(v.Algorithm) && block == nil:
		return refuse("name the file of the public key", "the key is not PEM, and %s wants a public key", v.Algorithm)
	case !Secret(v.Algorithm) && strings.HasSuffix(block.Type, "PRIVATE KEY"):
		return refuse("name the file of the public key: openssl pkey -in KEY -pubout", "the key is a private one, which who verifies must not have")
	}
	return nil
}

// Secret reports whether both sides of an algorithm have the same key.
func Secret(algorithm string) bool { return strings.HasPrefix(algorithm, "HS") }

// verify holds the signature against the files, as OPA does: one token, made by the one key, over each file and over no other.
func (v Verification) verify(signatures []byte, files map[string]file) error {
	if signatures == nil {
		return refuse("sign it: winnow policy bundle --signing-key, or opa sign", "it is not signed, and key %s must have signed it", shown(v.KeyID))
	}
	if err := v.Check(); err != nil {
		return err
	}
	var sc bundle.SignaturesConfig
	if err := json.Unmarshal(signatures, &sc); err != nil {
		return refuse("sign it again", "its %s cannot be read (%v)", signaturesName, err)
	}
	config := bundle.NewVerificationConfig(map[string]*keys.Config{
		v.KeyID: {Key: v.Key, Algorithm: v.Algorithm, Scope: v.Scope},
	}, v.KeyID, v.Scope, nil)
	signed, err := bundle.VerifyBundleSignature(sc, config)
	switch {
	case err != nil && strings.Contains(err.Error(), "scope mismatch"):
		return refuse("sign it for this scope, or correct the scope", "its signature is not for the scope %s", shown(v.Scope))
	case err != nil:
		return refuse("see that it was signed with key "+shown(v.KeyID)+" and "+v.Algorithm, "its signature is not of key %s (%v)", shown(v.KeyID), err)
	}
	for _, p := range slices.Sorted(maps.Keys(files)) {
		f := files[p]
		if path := strings.TrimPrefix(p, "./"); len(f.data) > maxManifest && bundle.IsStructuredDoc(path) {
			return refuse(again, "%s in it has %d bytes, and %d are the most", p, len(f.data), maxManifest)
		}
		if err := bundle.VerifyBundleFile(f.name, *bytes.NewBuffer(f.data), signed); err != nil {
			return refuse("get it again from who signed it", "its signature does not cover what is in it (%v)", err)
		}
	}
	if len(signed) > 0 {
		return refuse("get it again from who signed it", "its signature covers %s, which is not in it", shown(slices.Min(slices.Collect(maps.Keys(signed)))))
	}
	return nil
}

// dataName is the file that OPA keeps a bundle's data in. Exceptions are the only data that a bundle may have: at data.exceptions, where opa build puts
// the exceptions.yaml of a folder, or at data.policies.exceptions, where they are below the root of Winnow's own bundles.
const dataName = "data.json"

// exceptionsRoot is the root below which the exceptions of a bundle lie.
const exceptionsRoot = "policies/exceptions"

// exceptionsIn gives the exceptions that a bundle's data is, as a file of a tree has them; false where the data is nothing, or something else.
func exceptionsIn(data []byte) ([]byte, bool) {
	fields := map[string]json.RawMessage{}
	if json.Unmarshal(data, &fields) != nil || len(fields) != 1 {
		return nil, false
	}
	list := fields["exceptions"]
	if below := fields["policies"]; below != nil {
		inner := map[string]json.RawMessage{}
		if json.Unmarshal(below, &inner) != nil || len(inner) != 1 {
			return nil, false
		}
		list = inner["exceptions"]
	}
	if list == nil {
		return nil, false
	}
	out, err := json.MarshalIndent(map[string]json.RawMessage{"exceptions": list}, "", " ")
	return out, err == nil
}

func isExceptionsData(data []byte) bool {
	_, ok := exceptionsIn(data)
	return ok
}

// plantExceptions puts the exceptions of a bundle where a tree has them: from its data, or from the file itself, which whoever packs a folder with tar puts in.
func (b *Bundle) plantExceptions(files map[string]file, top string) error {
	var found []string
	for _, p := range b.Files {
		switch {
		case p == dataName && isExceptionsData(files[p].data), p == top+policy.ExceptionsName:
			found = append(found, p)
		case policy.IsExceptions(p):
			return refuse("move it to "+top+policy.ExceptionsName+", or give it another name", "%s in it would be passed over: exceptions are in the topmost folder of the policies", p)
		}
	}
	switch {
	case len(found) == 0:
		return nil
	case len(found) > 1:
		return refuse("take one out", "it has exceptions in %s", strings.Join(found, " and in "))
	}
	data := files[found[0]].data
	if found[0] == dataName {
		data, _ = exceptionsIn(data)
	}
	b.tree[policy.ExceptionsName] = &fstest.MapFile{Data: data}
	b.data = found[0] == dataName
	return nil
}

// addExceptions puts the exceptions of a folder into the data of a bundle, below a root of it.
func addExceptions(b *bundle.Bundle, f policy.File) error {
	all, err := policy.ReadExceptions(f.Tree, f.Name, f.Data())
	if err != nil {
		return err
	}
	var list any
	data, err := json.Marshal(append([]snapshot.Keep{}, all...))
	if err == nil {
		err = json.Unmarshal(data, &list)
	}
	if err != nil {
		return fmt.Errorf("write the exceptions: %w", err)
	}
	b.Data["policies"] = map[string]any{"exceptions": list}
	return nil
}

// coverExceptions adds the root of the exceptions where the manifest's own roots leave it out: OPA takes no data from outside of the roots.
func coverExceptions(b *bundle.Bundle) {
	if len(b.Data) == 0 || slices.ContainsFunc(*b.Manifest.Roots, func(r string) bool {
		r = strings.Trim(r, "/")
		return r == "" || r == "policies" || r == exceptionsRoot
	}) {
		return
	}
	roots := append(slices.Clone(*b.Manifest.Roots), exceptionsRoot)
	b.Manifest.Roots = &roots
}
