package ledger

import "context"

// latestSweeps is in how many of the latest sweeps a repository is looked for.
const latestSweeps = 20

// Repositories gives the owners of the folders that the latest sweeps decided on, sorted: most are the main checkouts of repositories.
func (l *Ledger) Repositories(ctx context.Context) ([]string, error) {
	rows, err := l.db.QueryContext(ctx, `WITH latest AS (SELECT saved, pruned FROM sweeps WHERE n > (SELECT COALESCE(MAX(n), 0) FROM sweeps) - ?)
		SELECT DISTINCT owner FROM standing s WHERE kind = 'dir' AND owner <> ''
			AND EXISTS (SELECT 1 FROM latest WHERE pruned = 0 AND s.since <= saved AND (s.until IS NULL OR s.until > saved))
		ORDER BY owner`, latestSweeps)
	if err != nil {
		return nil, l.explain("read repositories from", err)
	}
	defer rows.Close()
	var out []string
	for rows.Next() {
		var owner string
		if err := rows.Scan(&owner); err != nil {
			return nil, l.explain("read repositories from", err)
		}
		out = append(out, owner)
	}
	if err := rows.Err(); err != nil {
		return nil, l.explain("read repositories from", err)
	}
	return out, nil
}
