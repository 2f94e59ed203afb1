package ledger

import (
	"context"
	"time"

	"github.com/winnow-reaper/winnow/engine/snapshot"
)

var agentSessionsTable = remembered[snapshot.AgentSession]{
	table[string, snapshot.AgentSession]{"agent_sessions", "id, server_ticks, created_at, agent, last_at",
		func(_ *string, a *snapshot.AgentSession) []any {
			return []any{&a.ID, &a.ServerTicks, (*instant)(&a.CreatedAt), &a.Agent, (*instant)(&a.LastAt)}
		}},
	1,
	func(a *snapshot.AgentSession) []*time.Time { return []*time.Time{&a.LastAt} },
	nil,
}

// AgentSessions gives the tmux sessions in which earlier looks saw an agent, sorted by id.
func (l *Ledger) AgentSessions(ctx context.Context) ([]snapshot.AgentSession, error) {
	all := []snapshot.AgentSession{}
	if err := agentSessionsTable.all(ctx, l, func(a snapshot.AgentSession) { all = append(all, a) }); err != nil {
		return nil, l.explain("read the sessions of agents of", err)
	}
	return all, nil
}

// SaveAgentSessions makes next all the sessions that are remembered.
func (l *Ledger) SaveAgentSessions(ctx context.Context, next []snapshot.AgentSession) error {
	err := agentSessionsTable.save(ctx, l, next)
	return l.explain("save the sessions of agents in", err)
}
