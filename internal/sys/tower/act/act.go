// Package act has the one call that changes something in a Tower. Only actuators import it.
package act

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	"github.com/winnow-reaper/winnow/internal/sys/tower"
)

// ErrUnknown says that the Tower does not know the terminal that it was to close.
var ErrUnknown = errors.New("the Tower says that it does not know it")

// Close has the Tower close a terminal. Nil means that the Tower confirmed it; after an error that is tower.Undone it has done nothing.
func Close(ctx context.Context, c *tower.Client, id string) error {
	answer, err := c.Ask(ctx, http.MethodDelete, "/api/terminals/"+url.PathEscape(id))
	switch {
	case err != nil:
		return err
	case answer.Status == http.StatusNoContent:
		return nil
	case answer.Status == http.StatusNotFound && answer.Word() == "NOT_FOUND":
		return ErrUnknown
	}
	return answer.Refusal()
}
