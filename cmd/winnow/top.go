package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/eval"
	"github.com/winnow-reaper/winnow/engine/policy"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/ops"
	"github.com/winnow-reaper/winnow/internal/render"
	"github.com/winnow-reaper/winnow/internal/report"
	"github.com/winnow-reaper/winnow/internal/screen"
	"github.com/winnow-reaper/winnow/internal/sources"
	"github.com/winnow-reaper/winnow/internal/sys/proc"
	"github.com/winnow-reaper/winnow/internal/text"
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
			return a.show(doc, err, "  ", func(w io.Writer) { a.paint.Agents(w, doc) })
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
	w := &watch{Ops: &a.Ops, engine: e, policy: p}
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
		return a.show(look, err, "  ", nil)
	}
	w.Ops = a.quiet()
	looking, stop := context.WithCancel(ctx)
	var busy sync.WaitGroup
	busy.Go(func() {
		for looking.Err() == nil {
			select {
			case <-looking.Done():
			case <-time.After(judgeEvery):
				_ = w.judge(looking) // the verdicts of before stand; a source that fails keeps everything
			}
		}
	})
	var done []string
	do := func(act func(o *ops.Ops, id string) (string, error)) func(string) string {
		return func(id string) string {
			busy.Add(1)
			defer busy.Done()
			said, err := "nothing was done to "+id+": the view was left before", error(nil)
			if looking.Err() == nil { // else this program ends without waiting for it
				said, err = act(a.quiet(), id)
			}
			if err != nil {
				said = err.Error()
			}
			done = append(done, said) // the view does one thing at a time
			return said
		}
	}
	err = screen.Run(ctx, in, out, top.New(ctx, top.Options{
		Look: w.look, Every: every, Paint: a.paint.Paint,
		Explain: func(id string) (short, rules screen.Text) { return a.explanation(looking, nil, id) },
		Hold: do(func(o *ops.Ops, id string) (string, error) {
			h, err := o.Retain(ctx, id, true, "held in winnow top", 0)
			return render.Held(h), err
		}),
		End: do(func(o *ops.Ops, id string) (string, error) {
			out, err := o.Cleanup(ctx, id, false)
			if err != nil {
				return "", err
			}
			return out.Cleaned + ": " + out.Act.Outcome.Outcome + ": " + report.Aside(*out.Act), nil
		}),
	}))
	stop()
	busy.Wait()
	for _, said := range done {
		a.paint.Sentence(a.out, text.Clean(said))
	}
	return err
}

// watch is one look at the processes after the other.
type watch struct {
	*ops.Ops
	engine *eval.Engine
	policy *policy.Policy
	// before is what the last look saw.
	before *snapshot.Snapshot

	mu       sync.Mutex
	verdicts map[string]decision.Decision
	judged   *snapshot.Snapshot
}

// judge reads all that verdicts on processes rest on, and decides.
func (w *watch) judge(ctx context.Context) error {
	s, err := w.Look(ctx, sources.Scope{Kind: snapshot.KindProcess}, w.LoadPriorReadOnly(ctx))
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
	w.verdicts, w.judged = verdicts, s
	return nil
}

// look reads the processes alone.
func (w *watch) look(ctx context.Context) (top.Look, error) {
	s, err := w.Processes(ctx)
	if err != nil {
		return top.Look{}, err
	}
	w.mu.Lock()
	verdicts, judged := w.verdicts, w.judged
	w.mu.Unlock()
	look := top.NewLook(top.Inputs{
		Snapshot: s, Before: w.before, Config: &w.Cfg.Rules.Config, Verdicts: verdicts, Places: judged, UID: os.Getuid(),
		PSS: func(pid int) (int64, error) { return proc.PSS(w.Cfg.Collect.Processes.Root, pid) },
	})
	w.before = s
	return look, nil
}
