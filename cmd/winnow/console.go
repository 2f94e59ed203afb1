package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/winnow-reaper/winnow/client"
	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/console"
	"github.com/winnow-reaper/winnow/internal/daemon"
	"github.com/winnow-reaper/winnow/internal/localapi"
	"github.com/winnow-reaper/winnow/internal/ops"
	"github.com/winnow-reaper/winnow/internal/render"
)

func newConsole(a *app) *cobra.Command {
	var port int
	cmd := &cobra.Command{
		Use:   "console",
		Short: "Show all of it in a browser on this machine; hold, restore, pause",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("port") && (port < 0 || port > 65535) {
				return config.Usagef("--port %d: it is a number from 1 to 65535, or 0 for a free one; nothing was started", port)
			}
			listen := a.Cfg.Console.Listen
			if at, err := netip.ParseAddrPort(listen); err == nil && cmd.Flags().Changed("port") {
				listen = net.JoinHostPort(at.Addr().String(), strconv.Itoa(port))
			}
			return a.console(cmd.Context(), listen)
		},
	}
	a.forms(cmd, "text", "json", "ndjson")
	cmd.Flags().IntVar(&port, "port", 0, "the `port`, in place of the one in console.listen; 0 for a free one")
	return cmd
}

// console is winnow console.
func (a *app) console(ctx context.Context, listen string) error {
	d, err := daemon.New(ctx, &a.Ops, daemon.Options{Load: a.loadConfig, Line: func(string) {}})
	if err != nil {
		return err
	}
	defer d.Close()
	w := &consoleAPI{app: a, d: d, local: localapi.New(d)}
	defer w.local.Close()
	server, err := console.Listen(w, listen, a.Log.Named("console"))
	if err != nil {
		return err
	}
	doc := map[string]string{"url": server.URL()}
	if err := a.say(doc, nil, server.URL()+"\nopen this address in a browser on this machine; it is good until winnow console ends (Ctrl-C)"); err != nil {
		return err
	}
	defer w.turn.Lock() // what changes something comes to its end, and nothing else begins
	return server.Serve(ctx)
}

// consoleAPI is the API of the daemon that answers, or else of one in this process, which sweeps only when it is asked to and never acts.
type consoleAPI struct {
	*app
	d     *daemon.Daemon
	local *localapi.Server
	// turn is held by what changes something.
	turn sync.Mutex

	mu sync.Mutex
	// silent is when a daemon last kept who asks waiting without an answer: for a time it is not asked.
	silent time.Time
}

// silentFor is how long a daemon that hangs is not asked.
const silentFor = 5 * time.Second

// Ask implements console.API.
func (w *consoleAPI) Ask(ctx context.Context, method, path string, p client.Params, out any) error {
	switch {
	case method == http.MethodPost && path == "/v1/look": // it may wait for long, and no pause waits for it
		if err := w.reload(ctx); err != nil {
			return fmt.Errorf("the configuration or the policies were not read again, and those before go on: %w", err)
		}
	case method != http.MethodGet:
		w.turn.Lock()
		defer w.turn.Unlock()
	}
	if err := w.askDaemon(ctx, method, path, p, out); !errors.Is(err, localapi.ErrNoDaemon) {
		return err
	}
	doc, err := w.local.Do(ctx, method, path, p)
	if err == nil {
		reflect.ValueOf(out).Elem().Set(reflect.ValueOf(doc))
	}
	return err
}

// askDaemon asks the daemon by the configuration of now.
func (w *consoleAPI) askDaemon(ctx context.Context, method, path string, p client.Params, out any) error {
	w.mu.Lock()
	silent := w.silent
	w.mu.Unlock()
	if time.Since(silent) < silentFor {
		return localapi.ErrNoDaemon
	}
	began := time.Now()
	err := localapi.Ask(ctx, &w.d.Now().Folder, method, path, p, out)
	if errors.Is(err, localapi.ErrNoDaemon) && time.Since(began) >= localapi.DialTimeout {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.silent = time.Now()
	}
	return err
}

// reload reads the configuration and the policies again.
func (w *consoleAPI) reload(ctx context.Context) error {
	w.turn.Lock()
	defer w.turn.Unlock()
	cfg, err := w.loadConfig()
	if err != nil {
		return err
	}
	if now := w.d.Now().Cfg; cfg.State != now.State {
		return fmt.Errorf("state has become %s: start winnow console again for another state folder", cfg.State)
	}
	return w.d.Load(ctx, cfg)
}

// Restore implements console.API.
func (w *consoleAPI) Restore(ctx context.Context, act string) (string, error) {
	return w.alone(func(o *ops.Ops, said io.Writer) error {
		back, err := o.RestoreWhole(ctx, act)
		render.Restored(said, back)
		return err
	})
}

// Purge implements console.API.
func (w *consoleAPI) Purge(ctx context.Context, acts []string) (string, error) {
	return w.alone(func(o *ops.Ops, said io.Writer) error {
		out, err := o.Purge(ctx, acts...)
		if err != nil {
			return err
		}
		render.Paint{}.Emptied(said, out)
		if len(out.Left) > 0 {
			return errors.New("not all of it was removed")
		}
		return nil
	})
}

// alone does something for a person at the console while nothing else acts there. The answer is all that was said, on one line; it stands in an error too.
func (w *consoleAPI) alone(do func(o *ops.Ops, said io.Writer) error) (string, error) {
	w.turn.Lock()
	defer w.turn.Unlock()
	var said bytes.Buffer
	o := *w.d.Now()
	o.Tell, o.Watch = func(line string) { fmt.Fprintln(&said, line) }, nil
	err := do(&o, &said)
	var lines []string
	for line := range strings.Lines(said.String()) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	all := strings.Join(lines, "; ")
	if err != nil && all != "" {
		err = fmt.Errorf("%w; %s", err, all)
	}
	return all, err
}
