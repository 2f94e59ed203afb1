package policyset

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/winnow-reaper/winnow/engine/bundle"
	"github.com/winnow-reaper/winnow/engine/policy"
	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/document"
	"github.com/winnow-reaper/winnow/internal/exit"
	"github.com/winnow-reaper/winnow/internal/ops"
	"github.com/winnow-reaper/winnow/internal/ruleset"
	"github.com/winnow-reaper/winnow/internal/sys/atomicfile"
	"github.com/winnow-reaper/winnow/internal/sys/git"
	"github.com/winnow-reaper/winnow/internal/sys/git/revision"
	"github.com/winnow-reaper/winnow/internal/sys/safeopen"
	"github.com/winnow-reaper/winnow/internal/sys/spelling"
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
		s, err := f.Key.signing(ctx)
		if err != nil {
			return nil, err
		}
		o.Signing = s
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
