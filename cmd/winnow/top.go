package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/spf13/cobra"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/eval"
	"github.com/winnow-reaper/winnow/engine/policy"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/report"
	"github.com/winnow-reaper/winnow/internal/sources"
	"github.com/winnow-reaper/winnow/internal/sys/proc"
	"github.com/winnow-reaper/winnow/internal/top"
)

func newAgents(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "agents",
		Short: "What agents and orchestrators are known, and which run here",
		Long: `Agents lists the agents and orchestrators that Winnow knows, with your processes that are theirs. A folder of
agents.paths adds files of your own. A process that none of them names may still be an agent, and is judged by what it
does.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			doc, err := a.Agents(cmd.Context())
			if err != nil {
				return err
			}
			return a.show(doc, "  ", func(w io.Writer) { a.paint.Agents(w, doc) })
		},
	}
}

func newTop(a *app) *cobra.Command {
	every := span(2 * time.Second)
	cmd := &cobra.Command{
		Use:   "top",
		Short: "What agents run here, with processor, memory, age and verdict",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if every < span(100*time.Millisecond) {
				return config.Usagef("--every %s is too short: at least 100ms", time.Duration(every))
			}
			return a.top(cmd.Context(), time.Duration(every))
		},
	}
	cmd.Flags().Var(&every, "every", "how long from one look to the next")
	return cmd
}

// judgeEvery is how often the verdicts are asked for again: that look reads more than processes.
const judgeEvery = 30 * time.Second

func (a *app) top(ctx context.Context, every time.Duration) error {
	in, out, err := a.terminal("top")
	if err != nil {
		return err
	}
	e, p, err := a.Engine(ctx)
	if err != nil {
		return err
	}
	w := &watch{app: a, engine: e, policy: p}
	if err := w.judge(ctx); err != nil {
		return err
	}
	if a.json() {
		if _, err := w.look(ctx); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return errors.New("interrupted")
		case <-time.After(every):
		}
		look, err := w.look(ctx)
		if err != nil {
			return err
		}
		return a.show(look, "  ", nil)
	}
	a.Log, a.drawing = hclog.NewNullLogger(), true // a line of the log, or of the progress, would stand in the picture
	ctx, cancel := context.WithCancel(ctx)
	var judging sync.WaitGroup
	judging.Go(func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-time.After(judgeEvery):
				_ = w.judge(ctx) // the verdicts of before stand; a source that fails keeps everything
			}
		}
	})
	err = top.Run(ctx, in, out, top.Options{Look: w.look, Every: every, Paint: a.paint.Paint})
	cancel()
	judging.Wait()
	return err
}

// watch is one look at the processes after the other.
type watch struct {
	*app
	engine *eval.Engine
	policy *policy.Policy
	// before is what the last look saw.
	before *snapshot.Snapshot

	mu       sync.Mutex
	verdicts map[string]decision.Decision
}

// judge reads all that verdicts on processes rest on, and decides.
func (w *watch) judge(ctx context.Context) error {
	s, err := w.app.Look(ctx, sources.Scope{Kind: snapshot.KindProcess}, w.LoadPriorReadOnly(ctx))
	if err != nil {
		return err
	}
	res, err := w.engine.Decide(ctx, s, &w.Cfg.Rules.Config)
	if err != nil {
		return fmt.Errorf("decide: %w", err)
	}
	verdicts := map[string]decision.Decision{}
	for _, d := range res.Decisions {
		if d.Kind == snapshot.KindProcess {
			d.Main = report.Main(d, s, &w.Cfg.Rules.Config, w.policy)
			verdicts[d.ID] = d
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.verdicts = verdicts
	return nil
}

// look reads the processes alone.
func (w *watch) look(ctx context.Context) (top.Look, error) {
	s, err := w.Processes(ctx)
	if err != nil {
		return top.Look{}, err
	}
	w.mu.Lock()
	verdicts := w.verdicts
	w.mu.Unlock()
	look := top.NewLook(top.Inputs{
		Snapshot: s, Before: w.before, Config: &w.Cfg.Rules.Config, Verdicts: verdicts, UID: os.Getuid(),
		PSS: func(pid int) (int64, error) { return proc.PSS(w.Cfg.Collect.Processes.Root, pid) },
	})
	w.before = s
	return look, nil
}
