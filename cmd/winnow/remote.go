package main

import (
	"context"
	"errors"

	"github.com/winnow-reaper/winnow/client"
	"github.com/winnow-reaper/winnow/internal/localapi"
)

// viaDaemon has the daemon of this state folder do what a command asks for, and gives its document: so there is one configuration, one version and one memory. Where it does
// not answer, or another configuration, version or environment rules here, the command does it itself, by here.
func viaDaemon[T any](ctx context.Context, a *app, method, path string, p client.Params, here func() (T, error)) (T, error) {
	var out T
	err := localapi.Ask(ctx, &a.Folder, method, path, p, &out)
	if errors.Is(err, localapi.ErrNoDaemon) {
		a.Log.Debug("done by this command itself", "why", err)
		return here()
	}
	return out, err
}
