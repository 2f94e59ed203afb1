package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/winnow-reaper/winnow/client"
	"github.com/winnow-reaper/winnow/internal/exit"
)

// reached is how long the daemon has to say that it is there.
const reached = time.Second

// errHangs says that the daemon was asked and then did not answer any more.
var errHangs = errors.New("it has stopped answering")

// asksAgain is how often a daemon that has been asked has to say that it is there.
const asksAgain = 3 * time.Second

// errNotAsked says that the daemon did not do it: none answers, or it decides by another configuration.
var errNotAsked = errors.New("the daemon was not asked")

// through has the daemon of this state folder do what a command asks for, and prints what it printed: so there is one configuration, one version and one memory. Where none
// answers, or another configuration, version or environment rules here, the command does it itself, by here.
func (a *app) through(ctx context.Context, method, path string, query url.Values, body any, here func() error) error {
	p, err := a.ask(ctx, method, path, query, body)
	if errors.Is(err, errNotAsked) {
		a.Log.Debug("done by this command itself", "why", err)
		return here()
	}
	if err != nil {
		return err
	}
	if _, err := io.WriteString(a.out, p.Out); err != nil {
		return err
	}
	if _, err := io.WriteString(a.errOut, p.Notes); err != nil {
		return err
	}
	switch {
	case p.Code == exit.Done:
		return nil
	case p.Error == "":
		return exit.Error{Code: p.Code}
	}
	return exit.Error{Code: p.Code, Err: errors.New(p.Error)}
}

// ask asks the daemon, in the form in which this command prints.
func (a *app) ask(ctx context.Context, method, path string, query url.Values, body any) (Printed, error) {
	if a.Asker.Conn != nil || !a.Cfg.Run.API.Enabled {
		return Printed{}, fmt.Errorf("%w: run.api is off", errNotAsked)
	}
	socket := a.Cfg.APISocket()
	if _, err := os.Lstat(socket); errors.Is(err, fs.ErrNotExist) {
		return Printed{}, fmt.Errorf("%w: there is no %s", errNotAsked, socket)
	}
	c := client.New(socket)
	defer c.Close()
	c.Header = http.Header{headerForm: {a.flags.format}, headerPaint: {fmt.Sprintf("%t %d", a.paint.On, a.paint.Width)}, headerLog: {a.flags.logLevel}}
	if path != "/v1/state" { // how it stands is asked of any daemon
		c.Header.Set(headerConfig, a.Fingerprint)
	}
	if here, err := os.Getwd(); err == nil && !strings.ContainsAny(here, "\r\n\x00") {
		c.Header.Set(headerFolder, here)
	}
	if err := lives(ctx, c); err != nil {
		return Printed{}, err
	}
	ctx, end := whileItLives(ctx, c)
	defer end()
	res, err := c.Do(ctx, method, path, query, body)
	if err != nil {
		return Printed{}, unknown(ctx, method, err)
	}
	defer res.Body.Close()
	if res.StatusCode == http.StatusPreconditionFailed {
		return Printed{}, fmt.Errorf("%w: %w", errNotAsked, errOtherwise)
	}
	var p Printed
	if err := json.NewDecoder(res.Body).Decode(&p); err != nil {
		return Printed{}, unknown(ctx, method, fmt.Errorf("read the answer: %w", err))
	}
	return p, nil
}

// lives asks for little, in a short time: a daemon that hangs is found out before it is asked for something that counts.
func lives(ctx context.Context, c *client.Client) error {
	short, cancel := context.WithTimeout(ctx, reached)
	defer cancel()
	res, err := c.Do(short, http.MethodGet, "/v1/alive", nil, nil)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", errNotAsked, err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusNoContent {
		return fmt.Errorf("%w: %w", errNotAsked, errOtherwise)
	}
	return nil
}

// whileItLives ends when the daemon does not say any more that it is there: one that hangs while it is asked holds up no command.
func whileItLives(ctx context.Context, c *client.Client) (context.Context, func()) {
	inner, cancel := context.WithCancelCause(ctx)
	go func() {
		ask := time.NewTicker(asksAgain)
		defer ask.Stop()
		for {
			select {
			case <-inner.Done():
				return
			case <-ask.C:
			}
			if lives(inner, c) != nil {
				cancel(errHangs)
				return
			}
		}
	}()
	return inner, func() { cancel(nil) }
}

// unknown is the error of a request to which no whole answer came. What only reads is then done by the command itself.
func unknown(ctx context.Context, method string, err error) error {
	switch {
	case ctx.Err() != nil && !errors.Is(context.Cause(ctx), errHangs):
		return context.Cause(ctx)
	case method == http.MethodGet:
		return fmt.Errorf("%w: %w", errNotAsked, err)
	}
	return fmt.Errorf("winnow run did not say whether it was done: %w; look with winnow status and winnow holds, then try again", err)
}
