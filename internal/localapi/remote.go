package localapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/winnow-reaper/winnow/client"
	"github.com/winnow-reaper/winnow/internal/document"
	"github.com/winnow-reaper/winnow/internal/exit"
	"github.com/winnow-reaper/winnow/internal/state"
)

// DialTimeout is how long the daemon has to say that it is there.
const DialTimeout = time.Second

// errUnresponsive says that the daemon was asked and then did not answer any more.
var errUnresponsive = errors.New("it has stopped answering")

// PingEvery is how often a daemon that has been asked has to say that it is there.
const PingEvery = 3 * time.Second

// ErrNoDaemon says that the daemon did not do it: it does not answer, or it decides by another configuration.
var ErrNoDaemon = errors.New("the daemon was not asked")

// Ask asks the daemon of a state folder for a document, as its command line.
func Ask(ctx context.Context, f *state.Folder, method, path string, p client.Params, out any) error {
	if !f.Cfg.Run.API.Enabled {
		return fmt.Errorf("%w: run.api is off", ErrNoDaemon)
	}
	socket := f.Cfg.APISocket()
	if _, err := os.Lstat(socket); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: there is no %s", ErrNoDaemon, socket)
	}
	c := client.New(socket)
	defer c.Close()
	c.Header = http.Header{}
	if path != "/v1/state" { // how it stands is asked of any daemon
		c.Header.Set(HeaderConfig, f.Fingerprint)
	}
	if here, err := os.Getwd(); err == nil && !strings.ContainsAny(here, "\r\n\x00") {
		c.Header.Set(HeaderFolder, here)
	}
	if err := ping(ctx, c); err != nil {
		return err
	}
	ctx, end := whileItLives(ctx, c)
	defer end()
	res, err := c.Request(ctx, method, path, p)
	if err != nil {
		return unknown(ctx, method, err)
	}
	defer res.Body.Close()
	switch {
	case res.StatusCode == http.StatusPreconditionFailed:
		return fmt.Errorf("%w: %w", ErrNoDaemon, ErrConfigDiffers)
	case res.StatusCode != http.StatusOK:
		return refusal(ctx, method, res)
	}
	if err := client.Read(res.Body, out); err != nil {
		return unknown(ctx, method, fmt.Errorf("read the answer: %w", err))
	}
	return nil
}

// refusal is the error of an answer that says no, as the operation itself would have given it.
func refusal(ctx context.Context, method string, res *http.Response) error {
	var doc struct{ Error client.Error }
	if err := json.NewDecoder(res.Body).Decode(&doc); err != nil || doc.Error.Message == "" {
		return unknown(ctx, method, fmt.Errorf("winnow run answered %s", res.Status))
	}
	out := exit.Error{Code: doc.Error.Code, Err: errors.New(doc.Error.Message)}
	if doc.Error.Document != nil {
		var no document.Declined
		if err := client.Unmarshal(doc.Error.Document, &no); err != nil {
			return unknown(ctx, method, fmt.Errorf("read the answer: %w", err))
		}
		out.Err = &no
	}
	return out
}

// ping asks for little, in a short time: a daemon that hangs is found out before it is asked for something that counts.
func ping(ctx context.Context, c *client.Client) error {
	short, cancel := context.WithTimeout(ctx, DialTimeout)
	defer cancel()
	res, err := c.Request(short, http.MethodGet, "/v1/alive", client.Params{})
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNoDaemon, err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusNoContent {
		return fmt.Errorf("%w: %w", ErrNoDaemon, ErrConfigDiffers)
	}
	return nil
}

// whileItLives ends when the daemon does not say any more that it is there: one that hangs while it is asked holds up no command.
func whileItLives(ctx context.Context, c *client.Client) (context.Context, func()) {
	inner, cancel := context.WithCancelCause(ctx)
	go func() {
		tick := time.NewTicker(PingEvery)
		defer tick.Stop()
		for {
			select {
			case <-inner.Done():
				return
			case <-tick.C:
			}
			if ping(inner, c) != nil {
				cancel(errUnresponsive)
				return
			}
		}
	}()
	return inner, func() { cancel(nil) }
}

// unknown is the error of a request to which no whole answer came. What only reads is then done by the command itself.
func unknown(ctx context.Context, method string, err error) error {
	switch {
	case ctx.Err() != nil && !errors.Is(context.Cause(ctx), errUnresponsive):
		return context.Cause(ctx)
	case method == http.MethodGet:
		return fmt.Errorf("%w: %w", ErrNoDaemon, err)
	}
	return fmt.Errorf("winnow run did not say whether it was done: %w; look with winnow status and winnow holds, then try again", err)
}
