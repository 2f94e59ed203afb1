package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/winnow-reaper/winnow/engine/bundle"
	"github.com/winnow-reaper/winnow/engine/policy"
	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/render"
	"github.com/winnow-reaper/winnow/internal/ruleset"
	"github.com/winnow-reaper/winnow/internal/sys/atomicfile"
	"github.com/winnow-reaper/winnow/internal/sys/git"
	"github.com/winnow-reaper/winnow/internal/sys/gitsafe"
	"github.com/winnow-reaper/winnow/internal/text"
	"github.com/winnow-reaper/winnow/policies"
)

type bundleFlags struct {
	out, revision string
	serial        int64
	tests         bool
	signing       signingFlags
}

// signingFlags name a key, for signing or for verifying.
type signingFlags struct{ key, keyID, algorithm, scope string }

func (f *signingFlags) add(cmd *cobra.Command, key, what string) {
	cmd.Flags().StringVar(&f.key, key, "", what)
	cmd.Flags().StringVar(&f.keyID, "key-id", "", "`name` of the key, in the signature and in policy.bundles")
	cmd.Flags().StringVar(&f.algorithm, "algorithm", bundle.Algorithms[0], "`algorithm` of the signature: "+strings.Join(bundle.Algorithms, ", "))
	cmd.Flags().StringVar(&f.scope, "scope", "", "`word` that the signature says it is for")
	must(cmd.RegisterFlagCompletionFunc("algorithm", cobra.FixedCompletions(bundle.Algorithms, cobra.ShellCompDirectiveNoFileComp)))
	must(cmd.MarkFlagFilename(key, "pem"))
}

func (f signingFlags) check(key string) error {
	switch {
	case f.keyID == "":
		return config.Mistakef("--key-id is missing: name the key, as policy.bundles will name it; nothing was done")
	case !slices.Contains(bundle.Algorithms, f.algorithm):
		return config.Mistakef("--algorithm: unknown algorithm %q%s; nothing was done", f.algorithm, text.Hint(f.algorithm, bundle.Algorithms))
	case f.key == "":
		return config.Mistakef("--%s is missing: name the file of the key; nothing was done", key)
	}
	return nil
}

func newPolicyBundle(a *app) *cobra.Command {
	var f bundleFlags
	cmd := &cobra.Command{
		Use:   "bundle [FOLDER]",
		Short: "Make a bundle of policies that others can load",
		Long: `Bundle packs the policies in FOLDER, or the embedded ones, into one file that winnow and opa load: OPA's own bundle, with a revision and,
where a key is named, a signature. It refuses what winnow would not load. The same files, revision and serial give the same bytes; a
signature with an ES or a PS algorithm has chance in it.

The revision is what --revision says, else what the manifest (FOLDER/.manifest) says, else the commit of the repository when all files
are as they are in it, else a digest of them. The serial is a number by which a machine refuses a bundle that is older than what ran before:
what --serial says, else metadata.winnow.serial of the manifest, else the time of that commit, else none.`,
		Example: `  winnow policy bundle rules -o acme.tar.gz --signing-key acme-private.pem --key-id acme-2026 --algorithm ES256
  opa inspect acme.tar.gz`,
		Args: args(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, given []string) error {
			return a.buildBundle(cmd.Context(), append(given, "")[0], f)
		},
	}
	cmd.Flags().StringVarP(&f.out, "output", "o", "", "`file` to write")
	cmd.Flags().StringVar(&f.revision, "revision", "", "what this version is `called`")
	cmd.Flags().Int64Var(&f.serial, "serial", 0, "`number` that is greater than that of every earlier bundle")
	cmd.Flags().BoolVar(&f.tests, "with-tests", false, "put the tests in as well")
	f.signing.add(cmd, "signing-key", "`file` of the private key (PEM), or of the secret of an HS algorithm")
	return cmd
}

func (a *app) buildBundle(ctx context.Context, folder string, f bundleFlags) error {
	if f.out == "" {
		return config.Mistakef("-o is missing: name the file to write; nothing was done")
	}
	if f.serial < 0 {
		return config.Mistakef("--serial is %d; it wants a number from 1 on; nothing was done", f.serial)
	}
	o := bundle.BuildOptions{Tree: policy.Tree{Name: ruleset.EmbeddedName, FS: policies.Files}, Tests: f.tests}
	if folder != "" {
		real, err := config.Path(folder)
		if err == nil {
			o.Tree, err = ruleset.Tree(ctx, real)
		}
		if err != nil {
			return config.Mistakef("%s: %w", folder, err)
		}
		folder = real
	}
	if f.signing.key != "" || f.signing.keyID != "" {
		s, err := a.signing(ctx, f.signing)
		if err != nil {
			return err
		}
		o.Signing = s
	}
	out := render.BuiltBundle{File: f.out}
	if err := a.nameBundle(ctx, folder, f, &o, &out); err != nil {
		return err
	}
	data, made, err := bundle.Build(ctx, o)
	if err != nil {
		return ruleset.PolicyError(ctx, err)
	}
	rules, err := a.loads(ctx, made, folder)
	if err != nil {
		return err
	}
	out.BundleContent = contentOf(made, rules)
	if o.Signing != nil {
		out.KeyID, out.Algorithm, out.Scope = o.Signing.KeyID, o.Signing.Algorithm, o.Signing.Scope
	}
	out.Bytes = len(data)
	if err := atomicfile.Write(ctx, f.out, func(w io.Writer) error {
		_, err := io.Copy(w, bytes.NewReader(data))
		return err
	}); err != nil {
		return err
	}
	return a.show(out, "  ", func(w io.Writer) { a.paint.BuiltText(w, out) })
}

// signing reads the private key.
func (a *app) signing(ctx context.Context, f signingFlags) (*bundle.Signing, error) {
	if err := f.check("signing-key"); err != nil {
		return nil, err
	}
	file, err := config.Path(f.key)
	if err != nil {
		return nil, config.Mistakef("--signing-key: %w; nothing was done", err)
	}
	key, err := ruleset.ReadKey(ctx, file)
	if err != nil {
		return nil, config.Mistakef("--signing-key: %w; nothing was done", err)
	}
	s := &bundle.Signing{KeyID: f.keyID, Algorithm: f.algorithm, Scope: f.scope, Key: key}
	if bundle.Secret(f.algorithm) {
		s.Key = file
	}
	return s, nil
}

// nameBundle gives the bundle a revision and a serial.
func (a *app) nameBundle(ctx context.Context, folder string, f bundleFlags, o *bundle.BuildOptions, out *render.BuiltBundle) error {
	files, err := policy.ReadFiles(ctx, o.Tree, f.tests)
	if err != nil {
		return ruleset.PolicyError(ctx, err)
	}
	written, err := bundle.Manifest(files)
	if err != nil {
		return config.Mistakef("the manifest in %s: %w; nothing was done", cmp.Or(folder, ruleset.EmbeddedName), err)
	}
	var c commit
	if folder != "" && (f.revision == "" && written.Revision == "" || f.serial == 0 && written.Serial == 0) {
		c, err = commitOf(ctx, folder, files, f.tests)
		if err != nil {
			a.Log.Info("no commit is known", "folder", folder, "why", err)
		}
	}
	switch {
	case f.revision != "":
		o.Revision, out.RevisionFrom = f.revision, "flag"
	case written.Revision != "":
		out.RevisionFrom = "manifest"
	case c.oid != "":
		o.Revision, out.RevisionFrom = c.oid, "git"
	default:
		o.Revision, out.RevisionFrom = digestOf(files), "digest"
	}
	switch {
	case f.serial != 0:
		o.Serial, out.SerialFrom = f.serial, "flag"
	case written.Serial != 0:
		out.SerialFrom = "manifest"
	case c.at > 0:
		o.Serial, out.SerialFrom = c.at, "git"
	}
	return nil
}

// digestOf names files by what they hold.
func digestOf(files []policy.File) string {
	return policy.DigestOf(files)[:len("sha256:")+16]
}

// loads makes sure that winnow would load a bundle: beside the embedded policies, or alone where it stands for them. It gives how many rules the
// bundle has. from is what messages call its place, "" for the embedded policies.
func (a *app) loads(ctx context.Context, b *bundle.Bundle, from string) (int, error) {
	cfg, err := config.Defaults()
	if err != nil {
		return 0, err
	}
	cfg.Policy = a.Cfg.Policy
	tree := b.Tree("bundle", from)
	own := ruleset.Set{Trees: []policy.Tree{tree}, Cfg: cfg}
	beside := ruleset.Set{Trees: []policy.Tree{{Name: ruleset.EmbeddedName, FS: policies.Files}, tree}, Cfg: cfg}
	try := []ruleset.Set{beside, own}
	if from == "" || !a.Cfg.Policy.Embedded {
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

func contentOf(b *bundle.Bundle, rules int) render.BundleContent {
	return render.BundleContent{
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
	repo, err := finder.Open(place.CommonDir)
	if err != nil {
		return commit{}, err
	}
	oid := repo.Read(place).Head
	if !gitsafe.IsOID(oid) {
		return commit{}, fmt.Errorf("%s has no commit", place.Path)
	}
	real, err := filepath.EvalSymlinks(folder)
	if err != nil {
		return commit{}, err
	}
	below, err := filepath.Rel(place.Path, real)
	if err != nil {
		return commit{}, err
	}
	have := map[string]string{}
	for _, f := range files {
		have[path.Join(filepath.ToSlash(below), f.Path)] = repo.Blob(f.Data())
	}
	opened, err := gitsafe.Program{}.Open(ctx, place.CommonDir)
	if err != nil {
		return commit{}, err
	}
	sealed, err := opened.Seal(ctx, gitsafe.View{})
	if err != nil {
		return commit{}, err
	}
	defer func() { _ = sealed.Close() }()
	err = sealedTree(ctx, sealed, oid, below, tests, have)
	if err != nil {
		return commit{}, err
	}
	when, err := sealed.Output(ctx, "", "log", "-1", "--format=%ct", oid)
	if err != nil {
		return commit{}, err
	}
	at, err := strconv.ParseInt(strings.TrimSpace(when), 10, 64)
	if err != nil {
		return commit{}, fmt.Errorf("git gives no time of %s: %w", oid, err)
	}
	return commit{oid, at}, nil
}

// sealedTree holds the files of a folder, by path in the repository, against those of a commit.
func sealedTree(ctx context.Context, sealed *gitsafe.Sandbox, oid, below string, tests bool, have map[string]string) error {
	args := []string{"--literal-pathspecs", "ls-tree", "-r", "-z", "--full-tree", oid}
	if below != "." {
		args = append(args, "--", filepath.ToSlash(below))
	}
	committed := map[string]string{}
	_, err := sealed.Run(ctx, gitsafe.Call{Args: args}, func(record []byte) error {
		about, p, ok := strings.Cut(string(record), "\t")
		fields := strings.Fields(about) // mode, type, name
		if !ok || len(fields) != 3 {
			return fmt.Errorf("git ls-tree gave %.80q", record)
		}
		committed[p] = fields[2]
		return nil
	})
	if err != nil {
		return err
	}
	for p, blob := range have {
		if committed[p] != blob {
			return fmt.Errorf("%s is not as in commit %s", p, oid)
		}
		delete(committed, p)
	}
	for p := range committed {
		rel := strings.TrimPrefix(p, filepath.ToSlash(below)+"/")
		if rel == ".manifest" || strings.HasSuffix(p, ".rego") && (tests || !strings.HasSuffix(p, "_test.rego")) && !strings.HasPrefix(rel, ".") && !strings.Contains(rel, "/.") {
			return fmt.Errorf("%s of commit %s is missing", p, oid)
		}
	}
	return nil
}
