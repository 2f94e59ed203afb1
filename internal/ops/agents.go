package ops

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/engine/subject"
	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/document"
	"github.com/winnow-reaper/winnow/internal/look"
	"github.com/winnow-reaper/winnow/internal/sources"
)

// Agents are the agents that are known, with those of this user's processes that are theirs.
func (o *Ops) Agents(ctx context.Context) (document.Agents, error) {
	s, err := o.Processes(ctx)
	if err != nil {
		return document.Agents{}, err
	}
	return document.Agents{Schema: document.AgentsSchema, Agents: knownAgents(o.Cfg.Agents.Known, s)}, nil
}

// Processes reads the processes alone.
func (o *Ops) Processes(ctx context.Context) (*snapshot.Snapshot, error) {
	s, err := o.Look(ctx, sources.Scope{Kind: snapshot.KindProcess, Alone: true}, look.PriorState{})
	if err != nil {
		return nil, err
	}
	if src := s.Sources[snapshot.Proc]; src.Status != snapshot.OK {
		return nil, fmt.Errorf("the processes could not be read: %s", src.Error)
	}
	return s, nil
}

func knownAgents(known []config.Agent, s *snapshot.Snapshot) []document.KnownAgent {
	out := []document.KnownAgent{}
	for _, a := range known {
		of := subject.Config{Agents: a.Rules.Agents, AgentScripts: a.Rules.AgentScripts, AgentPackages: a.Rules.AgentPackages, AgentDaemons: a.Rules.AgentDaemons}
		row := document.KnownAgent{Name: a.Name, Title: a.Title, Version: a.Seen.Version, File: a.File, PIDs: []int{}}
		for _, p := range s.Processes {
			if p.UID != nil && *p.UID == os.Getuid() && of.Recognises(p) {
				row.PIDs = append(row.PIDs, p.PID)
			}
		}
		slices.Sort(row.PIDs)
		out = append(out, row)
	}
	return out
}

// checkAgents says which agents run.
func (o *Ops) checkAgents(s *snapshot.Snapshot) Check {
	var run []string
	for _, a := range knownAgents(o.Cfg.Agents.Known, s) {
		if len(a.PIDs) > 0 {
			run = append(run, a.Name)
		}
	}
	return Check{"source", "agents", Healthy, fmt.Sprintf("%d are known; here runs %s", len(o.Cfg.Agents.Known), cmp.Or(strings.Join(run, ", "), "none of them"))}
}
