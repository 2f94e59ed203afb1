// Package policyset is what people who write, review and ship policies do with folders of them: check, format and pack them.
package policyset

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/winnow-reaper/winnow/engine/bundle"
	"github.com/winnow-reaper/winnow/engine/policy"
	"github.com/winnow-reaper/winnow/engine/policy/lint"
	"github.com/winnow-reaper/winnow/engine/sandbox"
	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/document"
	"github.com/winnow-reaper/winnow/internal/exit"
	"github.com/winnow-reaper/winnow/internal/ops"
	"github.com/winnow-reaper/winnow/internal/report"
	"github.com/winnow-reaper/winnow/internal/ruleset"
	"github.com/winnow-reaper/winnow/internal/sys/atomicfile"
	"github.com/winnow-reaper/winnow/internal/sys/git"
	"github.com/winnow-reaper/winnow/internal/sys/git/revision"
	"github.com/winnow-reaper/winnow/internal/sys/safeopen"
	"github.com/winnow-reaper/winnow/internal/sys/spelling"
	"github.com/winnow-reaper/winnow/internal/sys/strict"
	"github.com/winnow-reaper/winnow/internal/text"
	"github.com/winnow-reaper/winnow/policies"
)

// BundleOptions say what a bundle becomes. Revision "" and Serial 0 are found.
type BundleOptions struct {
	Out, Revision string
	Serial        int64
	Tests         bool
	Key           Key
}

// Key names a key, for signing or for verifying. Flag is what the command line calls its file.
type Key struct{ Flag, File, ID, Algorithm, Scope string }

// read reads the key, and gives its file.
func (k Key) read(ctx context.Context) (key, file string, err error) {
	switch {
	case k.ID == "":
		return "", "", config.Usagef("--key-id is missing: name the key, as policy.bundles will name it; nothing was done")
	case !slices.Contains(bundle.Algorithms, k.Algorithm):
		return "", "", config.Usagef("--algorithm: unknown algorithm %q%s; nothing was done", k.Algorithm, spelling.Hint(k.Algorithm, bundle.Algorithms))
	case k.File == "":
		return "", "", config.Usagef("--%s is missing: name the file of the key; nothing was done", k.Flag)
	}
	if file, err = config.Path(k.File); err == nil {
		key, err = ruleset.ReadKey(ctx, file)
	}
	if err != nil {
		return "", "", config.Usagef("--%s: %w; nothing was done", k.Flag, err)
	}
	return key, file, nil
}

// signing is what a bundle is signed with.
func (k Key) signing(ctx context.Context) (*bundle.Signing, error) {
	key, file, err := k.read(ctx)
	if err != nil {
		return nil, err
	}
	s := &bundle.Signing{KeyID: k.ID, Algorithm: k.Algorithm, Scope: k.Scope, Key: key}
	if bundle.Secret(k.Algorithm) {
		s.Key = file
	}
	return s, nil
}

// Verify makes sure that a bundle was signed with a key, and that it loads.
func Verify(ctx context.Context, of *ops.Ops, name string, k Key) (*document.VerifiedBundle, error) {
	key, _, err := k.read(ctx)
	if err != nil {
		return nil, err
	}
	v := bundle.Verification{KeyID: k.ID, Algorithm: k.Algorithm, Scope: k.Scope, Key: key}
	if err := v.Check(); err != nil {
		return nil, config.Usagef("--%s: %w; nothing was done", k.Flag, err)
	}
	packed, err := safeopen.Read(ctx, name, safeopen.Want{Max: bundle.Max})
	if err != nil {
		return nil, config.Usagef("%w; nothing was verified", err)
	}
	b, err := bundle.Read(packed.Data, &v)
	if err != nil {
		return nil, fmt.Errorf("%s is not verified: %w", name, err)
	}
	rules, err := loads(ctx, of, b, name)
	if err != nil {
		return nil, exit.Error{Code: exit.Failed, Err: fmt.Errorf("%s is signed with key %s, and does not load: %w", name, k.ID, err)}
	}
	out := &document.VerifiedBundle{File: name, BundleContent: contentOf(b, rules)}
	out.Algorithm, out.Scope = k.Algorithm, k.Scope
	return out, nil
}

// Bundle packs the policies in a folder, or the embedded ones where it is "", and writes them.
func Bundle(ctx context.Context, of *ops.Ops, folder string, f BundleOptions) (*document.BuiltBundle, error) {
	if f.Out == "" {
		return nil, config.Usagef("-o is missing: name the file to write; nothing was done")
	}
	if f.Serial < 0 {
		return nil, config.Usagef("--serial is %d; it wants a number from 1 on; nothing was done", f.Serial)
	}
	o := bundle.BuildOptions{Tree: policy.Tree{Name: ruleset.EmbeddedName, FS: policies.Files}, Tests: f.Tests}
	if folder != "" {
		real, err := config.Path(folder)
		if err == nil {
			o.Tree, err = ruleset.Tree(ctx, real)
		}
		if err != nil {
			return nil, config.Usagef("%s: %w", folder, err)
		}
		folder = real
	}
	if f.Key.File != "" || f.Key.ID != "" {
		var err error
		if o.Signing, err = f.Key.signing(ctx); err != nil {
			return nil, err
		}
	}
	out := document.BuiltBundle{File: f.Out}
	if err := nameBundle(ctx, of, folder, f, &o, &out); err != nil {
		return nil, err
	}
	data, made, err := bundle.Build(ctx, o)
	if err != nil {
		return nil, ruleset.PolicyError(ctx, err)
	}
	rules, err := loads(ctx, of, made, folder)
	if err != nil {
		return nil, err
	}
	out.BundleContent = contentOf(made, rules)
	if o.Signing != nil {
		out.KeyID, out.Algorithm, out.Scope = o.Signing.KeyID, o.Signing.Algorithm, o.Signing.Scope
	}
	out.Bytes = len(data)
	return &out, atomicfile.WriteData(ctx, f.Out, data)
}

// nameBundle gives the bundle a revision and a serial.
func nameBundle(ctx context.Context, of *ops.Ops, folder string, f BundleOptions, o *bundle.BuildOptions, out *document.BuiltBundle) error {
	files, err := policy.ReadFiles(ctx, o.Tree, f.Tests)
	if err != nil {
		return ruleset.PolicyError(ctx, err)
	}
	written, err := bundle.Manifest(files)
	if err != nil {
		return config.Usagef("the manifest in %s: %w; nothing was done", cmp.Or(folder, ruleset.EmbeddedName), err)
	}
	var c commit
	if folder != "" && (f.Revision == "" && written.Revision == "" || f.Serial == 0 && written.Serial == 0) {
		if c, err = commitOf(ctx, folder, files, f.Tests); err != nil {
			of.Log.Info("no commit is known", "folder", folder, "why", err)
		}
	}
	switch {
	case f.Revision != "":
		o.Revision, out.RevisionFrom = f.Revision, "flag"
	case written.Revision != "":
		out.RevisionFrom = "manifest"
	case c.oid != "":
		o.Revision, out.RevisionFrom = c.oid, "git"
	default:
		o.Revision, out.RevisionFrom = policy.DigestOf(files)[:len("sha256:")+16], "digest"
	}
	switch {
	case f.Serial != 0:
		o.Serial, out.SerialFrom = f.Serial, "flag"
	case written.Serial != 0:
		out.SerialFrom = "manifest"
	case c.at > 0:
		o.Serial, out.SerialFrom = c.at, "git"
	}
	return nil
}

// loads makes sure that winnow would load a bundle: beside the embedded policies, or alone where it stands for them. It gives how many rules the
// bundle has. from is what messages call its place, "" for the embedded policies.
func loads(ctx context.Context, of *ops.Ops, b *bundle.Bundle, from string) (int, error) {
	cfg, err := config.Defaults()
	if err != nil {
		return 0, err
	}
	cfg.Policy = of.Cfg.Policy
	tree := b.Tree("bundle", from)
	own := ruleset.Set{Trees: []policy.Tree{tree}, Cfg: cfg}
	beside := ruleset.Set{Trees: []policy.Tree{{Name: ruleset.EmbeddedName, FS: policies.Files}, tree}, Cfg: cfg}
	try := []ruleset.Set{beside, own}
	if from == "" || !of.Cfg.Policy.Embedded {
		try = []ruleset.Set{own}
	}
	var first error
	for _, r := range try {
		e, p, err := r.Engine(ctx)
		if err == nil {
			n := 0
			for _, rule := range p.Rules() {
				if from == "" || strings.HasPrefix(rule.File, from+"/") {
					n++
				}
			}
			return n, e.Close()
		}
		first = cmp.Or(first, err)
	}
	return 0, first
}

func contentOf(b *bundle.Bundle, rules int) document.BundleContent {
	return document.BundleContent{
		Revision: b.Revision, Serial: b.Serial, Digest: b.Digest, Roots: b.Roots, Files: len(b.Files), Rules: rules, Signed: b.Signed, KeyID: b.KeyID,
	}
}

// commit is a commit of a repository, and when it was made, in seconds since 1970.
type commit struct {
	oid string
	at  int64
}

// commitOf gives the commit that a folder's repository stands at, if that has all of the folder's policies as they are, and no other ones.
func commitOf(ctx context.Context, folder string, files []policy.File, tests bool) (commit, error) {
	finder := git.NewFinder()
	place, ok := finder.Around(folder)
	if !ok || place.Bare {
		return commit{}, git.ErrNone
	}
	real, err := filepath.EvalSymlinks(folder)
	if err != nil {
		return commit{}, err
	}
	below, err := filepath.Rel(place.Path, real)
	if err != nil {
		return commit{}, err
	}
	r, err := revision.Find(ctx, finder, git.Program{}, folder, "HEAD")
	if err != nil {
		return commit{}, err
	}
	tree, err := ruleset.RevisionTree(ctx, r, folder, below)
	if err != nil {
		return commit{}, err
	}
	committed, err := policy.ReadFiles(ctx, tree, tests)
	if err != nil {
		return commit{}, err
	}
	if policy.DigestOf(committed) != policy.DigestOf(files) {
		return commit{}, fmt.Errorf("the policies are not as in commit %s", r.Commit)
	}
	at, err := r.Time(ctx)
	return commit{r.Commit, at.Unix()}, err
}

// Trees are the trees that a person names, on top of the embedded policies where these are wanted; without any, those of the configuration. unused are
// policies that were named in a way that counts for the configuration alone.
func Trees(ctx context.Context, o *ops.Ops, folders, unused []string) ([]policy.Tree, error) {
	if len(folders) == 0 {
		configured, err := o.Configured(ctx)
		trees := configured.Trees
		for i := range trees { // without a folder of one's own the embedded ones are what is meant
			trees[i].Beside = (trees[i].Name == ruleset.EmbeddedName || trees[i].Published) && len(trees) > 1
		}
		return trees, err
	}
	if len(unused) > 0 {
		o.Note("--policy is not used, since folders were named: %s", strings.Join(unused, ", "))
	}
	var trees []policy.Tree
	if o.Cfg.Policy.Embedded {
		trees = append(trees, policy.Tree{Name: ruleset.EmbeddedName, FS: policies.Files, Beside: true})
	}
	for _, name := range folders {
		if st, err := os.Stat(name); err == nil && !st.IsDir() && filepath.Ext(name) == ".rego" {
			return nil, config.Usagef("%s is a file, and a rule's package is its folder: give the folder of the tree%s. Nothing was read", text.Quote(name), treeOf(name))
		}
		t, err := o.NamedTree(ctx, name)
		if err != nil {
			return nil, err
		}
		trees = append(trees, t)
	}
	return trees, nil
}

// treeOf guesses the tree that a file lies in by the names of families above it; "" when it is missing.
func treeOf(file string) string {
	for dir := filepath.Dir(filepath.Clean(file)); dir != "." && dir != "/"; dir = filepath.Dir(dir) {
		if slices.Contains([]string{"reap", "protect", "lib", "main"}, filepath.Base(dir)) {
			return ", " + text.Quote(filepath.Dir(dir))
		}
	}
	return ""
}

// Names are the names of the trees that are not the embedded one, and whether that is among them.
func Names(trees []policy.Tree) (names []string, embedded bool) {
	names = []string{}
	for _, t := range trees {
		if t.Name == ruleset.EmbeddedName {
			embedded = true
		} else {
			names = append(names, t.Name)
		}
	}
	return names, embedded
}

// Read reads trees with their tests.
func Read(ctx context.Context, o policy.LoadOptions) (*policy.Sources, error) {
	s, err := policy.Read(ctx, o)
	return s, ruleset.PolicyError(ctx, err)
}

// Refusals takes the refusals out of an error; any other error stays.
func Refusals(err error) ([]lint.Refusal, error) {
	if rs := (lint.Refusals)(nil); errors.As(err, &rs) {
		return rs, nil
	}
	return nil, err
}

// refusedLayers takes what is wrong with layers as refusals; any other error stays.
func refusedLayers(_ []*config.Layer, err error) (lint.Refusals, error) {
	var refused lint.Refusals
	var wrong strict.Problems
	switch {
	case errors.As(err, &refused):
		return refused, nil
	case errors.As(err, &wrong):
		for _, w := range wrong {
			refused = append(refused, lint.Refusal{Class: lint.ClassLayer, File: w.File, Line: w.Line, Problem: w.Text, Fix: "docs/guides/share-policies.md has all that may stand in it"})
		}
		return refused, nil
	}
	return nil, err
}

// Check says what is wrong with policies. unused is as for Trees; rulesOf is a configuration whose rules section is checked too, "" for none.
func Check(ctx context.Context, o *ops.Ops, folders, unused []string, rulesOf string, advice bool) (*report.PolicyCheck, error) {
	trees, err := Trees(ctx, o, folders, unused)
	if err != nil {
		return nil, err
	}
	sources, err := Read(ctx, policy.LoadOptions{Trees: trees, Tests: true})
	if err != nil {
		return nil, err
	}
	checked, err := sandbox.Check(ctx, sources, o.Limits(), sandbox.Self(), advice)
	if err != nil {
		return nil, err
	}
	r, layers := ruleset.Set{Trees: trees, Cfg: o.Cfg}, []report.PolicyLayer{}
	if len(checked.Refused) == 0 {
		p := sources.Unbuilt(checked.Rules)
		if checked.Refused, err = refusedLayers(r.Layered(p)); err != nil {
			return nil, err
		}
		layers = r.Shown(p)
		if len(folders) == 0 && len(checked.Refused) == 0 {
			if err := r.Check(p); err != nil {
				return nil, err
			}
		}
	}
	if rulesOf != "" && len(checked.Refused) == 0 {
		cfg, err := config.Load(rulesOf, os.Environ())
		if err != nil {
			return nil, config.Usagef("--rules-of: %w", err)
		}
		r := ruleset.Set{Trees: trees, Cfg: cfg}
		if err := r.Check(sources.Unbuilt(checked.Rules)); err != nil {
			return nil, err
		}
	}
	exceptions := report.Exceptions(sources.Exceptions(), time.Now(), nil)
	doc := report.PolicyCheck{
		Schema: report.PolicyCheckSchema, Exceptions: exceptions, OK: len(checked.Refused) == 0, Rules: []string{}, Layers: layers, Kinds: append([]string{}, checked.Kinds...),
		Problems: append([]lint.Refusal{}, checked.Refused...), Advice: slices.Concat([]lint.Refusal{}, checked.Advice, report.Advice(exceptions)), Passed: sources.Passed(),
	}
	doc.Trees, doc.Embedded = Names(trees)
	doc.Files, doc.Tests = sources.Names()
	for _, id := range slices.Sorted(maps.Keys(checked.Rules)) {
		if slices.Contains(doc.Files, checked.Rules[id].File) {
			doc.Rules = append(doc.Rules, id)
		}
	}
	return &doc, nil
}
