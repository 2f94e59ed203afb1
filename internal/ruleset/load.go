// Package ruleset loads the policies, bundles and layers that one configuration names.
package ruleset

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/go-hclog"
	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/engine/bundle"
	"github.com/winnow-reaper/winnow/engine/eval"
	"github.com/winnow-reaper/winnow/engine/mask"
	"github.com/winnow-reaper/winnow/engine/policy"
	"github.com/winnow-reaper/winnow/engine/sandbox"
	"github.com/winnow-reaper/winnow/internal/bundles"
	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/decisionlog"
	"github.com/winnow-reaper/winnow/internal/project"
	"github.com/winnow-reaper/winnow/internal/state"
	"github.com/winnow-reaper/winnow/internal/sys/atomicfile"
	"github.com/winnow-reaper/winnow/internal/sys/git/revision"
	"github.com/winnow-reaper/winnow/internal/sys/safeopen"
	"github.com/winnow-reaper/winnow/internal/text"
	"github.com/winnow-reaper/winnow/policies"
)

// Engine loads the policies that the configuration names and prepares them. It asks no server: a bundle is the last good one.
func (l *Loader) Engine(ctx context.Context) (*eval.Engine, *policy.Policy, error) {
	return l.EngineBy(ctx, bundles.Look{})
}

// EngineBy is engine with bundles that are looked for as look says.
func (l *Loader) EngineBy(ctx context.Context, look bundles.Look) (*eval.Engine, *policy.Policy, error) {
	trees, err := l.Trees(ctx)
	if err != nil {
		return nil, nil, err
	}
	var e *eval.Engine
	var p *policy.Policy
	if len(l.Cfg.Policy.Bundles) > 0 {
		e, p, err = l.publishedEngine(ctx, trees, look)
	} else {
		e, p, err = Set{Trees: trees, Cfg: l.Cfg, cache: l.prepared(look)}.Engine(ctx)
	}
	if p != nil {
		l.Policy = p
	}
	return e, p, err
}

// Close ends the process of an engine's policies, where they have one: in the daemon it would stay.
func (l *Loader) Close(e *eval.Engine) {
	if err := e.Close(); err != nil {
		l.Log.Debug("close the engine", "error", err)
	}
}

// Configured is the ruleset that engine loads: the trees and the bundles that the configuration names. It asks no server.
func (l *Loader) Configured(ctx context.Context) (Set, error) {
	trees, err := l.Trees(ctx)
	if err != nil {
		return Set{}, err
	}
	published, err := l.PublishedTrees(ctx)
	if err != nil {
		return Set{}, err
	}
	return Set{Trees: append(trees, published...), Cfg: l.Cfg}, nil
}

// Set is what decides: policies, and the configuration that they read. Two of them can be compared.
type Set struct {
	Trees []policy.Tree
	Cfg   *config.Config
	// cache keeps what was prepared of them; nil keeps nothing.
	cache policy.Cache
}

// Engine loads the policies of a ruleset, prepares them, and holds the configuration against them. The policy is also given where it is
// refused because of the configuration.
func (r Set) Engine(ctx context.Context) (*eval.Engine, *policy.Policy, error) {
	e, p, err := r.Load(ctx)
	if err != nil {
		return nil, nil, err
	}
	if err := r.Check(p); err != nil {
		return nil, p, errors.Join(err, e.Close())
	}
	return e, p, nil
}

// Load loads the policies of a ruleset and prepares them. What the operator brings is parsed and evaluated in a process of its own,
// which ends with this one; the embedded policies alone are evaluated here.
func (r Set) Load(ctx context.Context) (*eval.Engine, *policy.Policy, error) {
	limits := eval.Limits{Timeout: r.Cfg.Policy.Timeout, HeapBytes: r.Cfg.Policy.Memory}
	if !r.Embedded() {
		e, p, err := sandbox.Load(ctx, policy.LoadOptions{Trees: r.Trees, Cache: r.cache}, limits, sandbox.Self())
		return e, p, PolicyError(ctx, err)
	}
	p, err := policy.Load(ctx, policy.LoadOptions{Trees: r.Trees, Prepared: policies.Prepared})
	if err != nil {
		return nil, nil, PolicyError(ctx, err)
	}
	return eval.New(p, limits), p, nil
}

// Embedded reports whether the program brought all of it.
func (r Set) Embedded() bool {
	return !slices.ContainsFunc(r.Trees, func(t policy.Tree) bool { return t.Name != EmbeddedName })
}

// Check holds the layers of a ruleset against one another, and what they and the configuration say of rules against those that were loaded: levels,
// and parameters, which get their values here. The configuration takes the exceptions of the policies too. A rule of beside counts as loaded too: a
// configuration that is for two versions of the policies may name it.
func (r Set) Check(p *policy.Policy, beside ...*policy.Policy) error {
	layers, err := r.Layered(p)
	if err != nil {
		return err
	}
	if err := r.Cfg.Stand(layers); err != nil {
		return err
	}
	rules, own := p.Rules(), p.Parameters()
	r.Cfg.Rules.Exceptions = p.Exceptions()
	for _, other := range beside {
		maps.Copy(rules, other.Rules())
		for _, x := range other.Parameters() {
			if !slices.ContainsFunc(own, func(y policy.Parameter) bool { return x.Name == y.Name }) {
				own = append(own, x)
			}
		}
	}
	if err := r.Cfg.CheckLevels(slices.Sorted(maps.Keys(rules))); err != nil {
		return err
	}
	return r.Cfg.SetCustom(own)
}

// WithOwn gives the parameters of one's own rules their values where nothing is judged. The embedded rules have none.
func (l *Loader) WithOwn(ctx context.Context) error {
	if len(l.Cfg.Policy.Paths)+len(l.Cfg.Policy.Bundles) == 0 {
		return l.Cfg.SetCustom(nil)
	}
	e, _, err := l.Engine(ctx)
	if err != nil {
		return err
	}
	return e.Close()
}

// EmbeddedName is the name of the policies that the program brings.
const EmbeddedName = "embedded"

// Trees are the embedded policies, the operator's folders, or both; bundles come beside them.
func (l *Loader) Trees(ctx context.Context) ([]policy.Tree, error) {
	var trees []policy.Tree
	if l.Cfg.Policy.Embedded {
		trees = append(trees, policy.Tree{Name: EmbeddedName, FS: policies.Files})
	}
	for _, p := range l.Cfg.Policy.Paths {
		t, err := Tree(ctx, p)
		if err != nil {
			return nil, config.Usagef("--policy: %w", err)
		}
		trees = append(trees, t)
	}
	if len(trees)+len(l.Cfg.Policy.Bundles) == 0 {
		return nil, config.Usagef("no policies: --no-embedded-policy leaves none; add --policy PATH")
	}
	return trees, nil
}

// Tree is what a person names as policies: a folder, or a bundle. A bundle that is named like this is not verified: the person who names it
// vouches for it, as for a folder.
func Tree(ctx context.Context, name string) (policy.Tree, error) {
	real, err := safeopen.Folder(name)
	if errors.Is(err, safeopen.ErrNotFolder) {
		return policyBundle(ctx, name)
	}
	if errors.Is(err, safeopen.ErrLink) {
		if target, e := filepath.EvalSymlinks(name); e == nil {
			err = fmt.Errorf("%s is a symbolic link: give the folder itself, %s", name, target)
		}
	}
	if err != nil {
		return policy.Tree{}, fmt.Errorf("%s; give a folder of .rego files, or a bundle, that no other user can change. Nothing was decided", err)
	}
	return policy.Tree{Name: name, FS: policyFiles(ctx, real), Prefix: name}, nil
}

// policyFiles are the files of a folder of rules, by its real path: such that no other user can change.
func policyFiles(ctx context.Context, real string) fs.FS {
	return safeopen.DirFS{Dir: real, Want: safeopen.Want{Max: policy.MaxPolicyFile, Ruling: true}, Context: ctx, MaxEntries: policy.MaxPolicyEntries}
}

// policyBundle is a bundle as a tree of policies.
func policyBundle(ctx context.Context, name string) (policy.Tree, error) {
	_, err := safeopen.Path(name)
	var f safeopen.File
	if err == nil {
		f, err = safeopen.Read(ctx, name, safeopen.Want{Max: bundle.Max, Ruling: true})
	}
	if err != nil {
		return policy.Tree{}, fmt.Errorf("%w; give a folder of .rego files, or a bundle, that no other user can change. Nothing was decided", err)
	}
	b, err := bundle.Read(f.Data, nil)
	if err != nil {
		return policy.Tree{}, fmt.Errorf("%s is no bundle that can be used: %w. Nothing was decided", name, err)
	}
	return b.Tree(name, name), nil
}

// maxRevision is how many bytes the policies of a revision may have, twice what is loaded: tests are read too.
const maxRevision = 16 << 20

// RevisionTree are the policies in a folder of a revision. An error may be revision.ErrNoPath.
func RevisionTree(ctx context.Context, r *revision.Revision, name, dir string) (policy.Tree, error) {
	files, err := r.Files(ctx, dir, revision.Reading{Names: policy.MaxPolicyEntries, Bytes: maxRevision, File: policy.MaxPolicyFile,
		Wanted: func(name string) bool {
			return slices.Contains([]string{".rego", ".json", ".yaml", ".yml", ".manifest"}, path.Ext(name))
		}})
	return policy.Tree{Name: name, FS: files, Prefix: path.Clean(strings.TrimLeft(cmp.Or(dir, "."), "/"))}, err
}

// policyError: bad policies are wrong configuration, and nothing is decided by half of them. A loading that was interrupted says
// nothing of them.
func PolicyError(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return errors.New("interrupted while loading policies; nothing was looked at, decided or done")
	default:
		return config.Usagef("policies refused, nothing was decided:\n%w", err)
	}
}

// Limits bound what policies may take.
func (l *Loader) Limits() eval.Limits {
	return eval.Limits{Timeout: l.Cfg.Policy.Timeout, HeapBytes: l.Cfg.Policy.Memory}
}

// NamedTree is a folder that a person names, called as that person wrote it.
func (l *Loader) NamedTree(ctx context.Context, name string) (policy.Tree, error) {
	path, err := config.Path(name)
	if err != nil {
		return policy.Tree{}, config.Usagef("%s: %v", text.Quote(name), err)
	}
	t, err := Tree(ctx, path)
	if err != nil {
		return policy.Tree{}, config.Usagef("%w", err)
	}
	shown := filepath.Clean(name)
	if strings.ContainsAny(name, "~$") { // what no shell expanded would lead elsewhere
		shown = path
	}
	t.Name, t.Prefix = shown, shown
	return t, nil
}

// Loader loads the policies that the configuration names.
type Loader struct {
	state.Folder
	// Policy is what was loaded last; nil in a command that judges nothing.
	Policy *policy.Policy
	// Bundles say how the bundles stand that were looked for then.
	Bundles []bundles.Status
}

// Shipped reports whether a rule is one of those that the program brings.
func (l *Loader) Shipped() func(rule string) bool {
	files := map[string]bool{}
	for _, f := range l.Policy.Files {
		files[f.Name] = f.Tree == EmbeddedName
	}
	return func(rule string) bool { return files[l.Policy.Rule(rule).File] }
}

// Store has what the user trusted of repositories' own files.
func (l *Loader) Store() project.Store { return project.Store{State: l.Cfg.State} }

// The sinks of the decision log, as the ledger knows them.
const (
	SinkFile    = "file"
	SinkService = "service"
)

// LoadMask gives what masks say, or, where they cannot be loaded, that they could not.
func (l *Loader) LoadMask(ctx context.Context, folder string) decisionlog.Masker {
	real, err := safeopen.Folder(folder)
	var files mask.Files
	if err == nil {
		files, err = mask.Read(ctx, policyFiles(ctx, real))
	}
	if err == nil {
		var m *sandbox.Masks
		if m, err = sandbox.StartMasks(ctx, files, l.Limits(), sandbox.Self()); err == nil {
			return m
		}
	}
	return NoMask{fmt.Errorf("decision_log.mask %s: %w", folder, err)}
}

// NoMask stands for masks that could not be loaded.
type NoMask struct{ Err error }

func (m NoMask) Rules(context.Context, any) ([]any, error) { return nil, m.Err }

// Sinks are where decisions are logged.
func (l *Loader) Sinks() (all []string) {
	if l.Cfg.DecisionLog.File.Path != "" {
		all = append(all, SinkFile)
	}
	if l.Cfg.DecisionLog.Service.URL != "" {
		all = append(all, SinkService)
	}
	return all
}

const (
	// preparedFolder is the folder in the state folder in which lies what was prepared of policies, a file for each set of them.
	preparedFolder = "policies"
	// maxPrepared is how many files are kept: those that were made last.
	maxPrepared = 16
	// preparedMax is how large one may be; that of the shipped policies has about 120 kilobytes.
	preparedMax = 8 << 20
)

// prepared is the cache of what was prepared of policies that are not the program's own. It is written by commands that may write to the state folder, and those
// are the ones that may ask servers for bundles; all others only read it.
func (l *Loader) prepared(look bundles.Look) policy.Cache {
	if l.Cfg.State == "" || safeopen.Trusted(l.Cfg.State) != nil {
		return nil
	}
	program, err := identity()
	if err != nil {
		l.Log.Debug("what is prepared of policies is not kept", "error", err)
		return nil
	}
	return &preparedCache{dir: filepath.Join(l.Cfg.State, preparedFolder), program: program, writes: look.Ask, log: l.Log.Named("policies")}
}

// identity tells this program from every other build of it: what one refuses another may load.
func identity() (string, error) {
	var st unix.Stat_t
	if err := unix.Stat("/proc/self/exe", &st); err != nil {
		return "", fmt.Errorf("look at this program's own file: %w", err)
	}
	return fmt.Sprintf("%d %d %d %d %d", st.Dev, st.Ino, st.Size, st.Mtim.Nano(), st.Ctim.Nano()), nil
}

// preparedCache implements policy.Cache with a file for each digest: the digest of what follows, and that.
type preparedCache struct {
	dir, program string
	writes       bool
	log          hclog.Logger
}

func (c *preparedCache) file(digest string) string {
	sum := sha256.Sum256([]byte(c.program + "\x00" + digest))
	return filepath.Join(c.dir, hex.EncodeToString(sum[:])+".plan")
}

// Load implements policy.Cache.
func (c *preparedCache) Load(digest string) []byte {
	f, err := safeopen.Read(context.Background(), c.file(digest), safeopen.Want{Max: preparedMax, Ruling: true})
	if err != nil {
		if !errors.Is(err, safeopen.ErrAbsent) && !errors.Is(err, fs.ErrNotExist) {
			c.log.Debug("what was prepared of policies is not used", "error", err)
		}
		return nil
	}
	sum := sha256.Sum256(f.Data[min(sha256.Size, len(f.Data)):])
	if len(f.Data) <= sha256.Size || !bytes.Equal(sum[:], f.Data[:sha256.Size]) {
		c.log.Debug("what was prepared of policies is damaged, and not used", "file", c.file(digest))
		return nil
	}
	return f.Data[sha256.Size:]
}

// Store implements policy.Cache. What cannot be written is prepared again the next time.
func (c *preparedCache) Store(digest string, data []byte) {
	if !c.writes || len(data)+sha256.Size > preparedMax {
		return
	}
	err := os.MkdirAll(c.dir, 0o700)
	if err == nil {
		sum := sha256.Sum256(data)
		err = atomicfile.WriteData(context.Background(), c.file(digest), append(sum[:], data...))
	}
	if err != nil {
		c.log.Debug("what was prepared of policies could not be kept", "error", err)
		return
	}
	c.prune()
}

// prune removes the oldest files beyond maxPrepared.
func (c *preparedCache) prune() {
	entries, err := os.ReadDir(c.dir)
	if err != nil {
		return
	}
	var files []fs.FileInfo
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() && filepath.Ext(e.Name()) == ".plan" {
			files = append(files, info)
		}
	}
	slices.SortFunc(files, func(x, y fs.FileInfo) int {
		return cmp.Or(y.ModTime().Compare(x.ModTime()), cmp.Compare(x.Name(), y.Name()))
	})
	for _, f := range files[min(maxPrepared, len(files)):] {
		if err := os.Remove(filepath.Join(c.dir, f.Name())); err != nil {
			c.log.Debug("remove what was prepared of policies", "error", err)
		}
	}
}
