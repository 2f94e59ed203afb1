package ledger

import (
	"context"
	"database/sql"

	"winnow/engine/snapshot"
)

var agentSessionsTable = table[string, snapshot.AgentSession]{"agent_sessions", "id, server_ticks, created_at, agent, last_at",
	func(_ *string, a *snapshot.AgentSession) []any {
		return []any{&a.ID, &a.ServerTicks, (*instant)(&a.CreatedAt), &a.Agent, (*instant)(&a.LastAt)}
	}}

// AgentSessions gives the tmux sessions in which earlier looks saw an agent, sorted by id.
func (l *Ledger) AgentSessions(ctx context.Context) ([]snapshot.AgentSession, error) {
	return list(ctx, l, agentSessionsTable, "ORDER BY id")
}

// SaveAgentSessions makes next all the sessions that are remembered.
func (l *Ledger) SaveAgentSessions(ctx context.Context, next []snapshot.AgentSession) error {
	err := l.replace(ctx, agentSessionsTable.name, func(tx *sql.Tx) error {
		return insert(ctx, tx, agentSessionsTable, next, func(a snapshot.AgentSession) (string, snapshot.AgentSession) { return "", a })
	})
	return l.explain("save the sessions of agents in", err)
}
