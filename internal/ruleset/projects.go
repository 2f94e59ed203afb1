package ruleset

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/winnow-reaper/winnow/engine/eval"
	"github.com/winnow-reaper/winnow/engine/policy"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/project"
	"github.com/winnow-reaper/winnow/internal/text"
)

// Admit has the exceptions of trusted repositories in force, and shows them beside those of the configuration. Where the list of these cannot be read,
// the look says so as a source that failed, and everything stays.
func (l *Loader) Admit(ctx context.Context, e *eval.Engine, cfg *config.Config) {
	trusted, err := l.Store().All(ctx)
	if err != nil {
		l.Log.Warn("the exceptions of trusted repositories were not read", "error", err)
		return
	}
	var repositories []eval.Repository
	for _, t := range trusted {
		if t.Exceptions == "" {
			continue
		}
		all, err := ExceptionsOf(t.Path, t.Exceptions)
		if err != nil { // they were read when they were trusted: a newer Winnow asks more of them
			l.Log.Warn("the exceptions of a trusted repository are refused, and all in it stays", "repository", t.Path, "error", err)
			continue
		}
		repositories = append(repositories, eval.Repository{Digest: t.ExceptionsSHA256, Exceptions: all})
	}
	e.Admit(repositories...)
	cfg.Rules.Exceptions = e.Exceptions()
}

// ExceptionsOf reads the exceptions of a repository, by the path of its main checkout.
func ExceptionsOf(main, text string) ([]snapshot.Keep, error) {
	if text == "" {
		return nil, nil
	}
	all, err := policy.ReadExceptions("repository:"+main, filepath.Join(main, project.Folder, project.Exceptions), []byte(text))
	for i := range all {
		all[i].Within = project.ExceptionsDigest(text)
	}
	return all, err
}

// Limits bound what policies may take.
func (l *Loader) Limits() eval.Limits {
	return eval.Limits{Timeout: l.Cfg.Policy.Timeout, HeapBytes: l.Cfg.Policy.Memory}
}

// NamedTree is a folder that a person names, called as that person wrote it.
func (l *Loader) NamedTree(ctx context.Context, name string) (policy.Tree, error) {
	path, err := config.Path(name)
	if err != nil {
		return policy.Tree{}, config.Mistakef("%s: %v", text.Quote(name), err)
	}
	t, err := Tree(ctx, path)
	if err != nil {
		return policy.Tree{}, config.Mistakef("%w", err)
	}
	shown := filepath.Clean(name)
	if strings.ContainsAny(name, "~$") { // what no shell expanded would lead elsewhere
		shown = path
	}
	t.Name, t.Prefix = shown, shown
	return t, nil
}
