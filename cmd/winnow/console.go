package main

import (
	"context"
	"net"
	"net/netip"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/console"
	"github.com/winnow-reaper/winnow/internal/console/world"
)

func newConsole(a *app) *cobra.Command {
	var port int
	cmd := &cobra.Command{
		Use:   "console",
		Short: "Show everything in a browser on this machine, with holds, restore and pause",
		Long: `Console serves pages on this machine's loopback: what is here by owner, what would go and why, acts with restore, holds, the trash with sizes, alarms, and policies
with their levels. It prints an address with a token, which is new at every start; open it in a browser. Nobody gets in without it, nor as another user.

It ends nothing that lives: the pages can hold, release, bring back, pause, resume, look, and remove for good what lies in the trash, after they asked. It looks while a page is
open, at least every console.every, and when the ledger changes. It runs until it is interrupted.`,
		Args: args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("port") && (port < 0 || port > 65535) {
				return config.Mistakef("--port %d: it is a number from 1 to 65535, or 0 for a free one; nothing was started", port)
			}
			listen := a.Cfg.Console.Listen
			if at, err := netip.ParseAddrPort(listen); err == nil && cmd.Flags().Changed("port") {
				listen = net.JoinHostPort(at.Addr().String(), strconv.Itoa(port))
			}
			return a.console(cmd.Context(), listen)
		},
	}
	a.forms(cmd, "text", "json")
	cmd.Flags().IntVar(&port, "port", 0, "the `port`, in place of the one in console.listen; 0 for a free one")
	return cmd
}

// console is winnow console.
func (a *app) console(ctx context.Context, listen string) error {
	w, err := world.New(ctx, &a.Ops, a.loadConfig)
	if err != nil {
		return err
	}
	defer w.Close()
	server, err := console.Listen(w, listen, a.Log.Named("console"))
	if err != nil {
		return err
	}
	doc := map[string]string{"url": server.URL()}
	if err := a.say(doc, server.URL()+"\nopen this address in a browser of yours on this machine; it is good until winnow console ends, which an interrupt does"); err != nil {
		return err
	}
	defer w.Begin(ctx)()
	return server.Serve(ctx)
}
