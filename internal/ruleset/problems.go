package ruleset

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/winnow-reaper/winnow/engine/eval"
	"github.com/winnow-reaper/winnow/engine/policy"
	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/text"
)

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
