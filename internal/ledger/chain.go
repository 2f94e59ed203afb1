package ledger

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Everything that is written about an act adds an entry to a chain, in the same transaction: the digest of the act's row as it then stands,
// and a link, which is a digest over the entry and the link before. So an act that is edited, removed, put in or put into another order
// afterwards no longer fits, and whoever knows the last link knows all that was written before it.
//
// The chain has no secret: who can write the ledger can make another chain. What shows that is a link that was kept elsewhere.

// The events of a chain.
const (
	eventIntent   = "intent"
	eventOutcome  = "outcome"
	eventAdopted  = "adopted"
	eventRestored = "restored"
	eventPurged   = "purged"
)

// Fault is a place in which the acts and their chain do not fit.
type Fault struct {
	// Entry is the number of the entry in the chain, 0 where the fault is of no entry; Act the act, "" where it is of no act.
	Entry int64  `json:"entry,omitempty"`
	Act   string `json:"act,omitempty"`
	// Problem is one sentence.
	Problem string `json:"problem"`
}

// Chain is what the check of the chain of acts found.
type Chain struct {
	// Entries counts the entries of the chain, Acts the acts in the ledger.
	Entries int64 `json:"entries"`
	Acts    int   `json:"acts"`
	// Head is the last link: with it, kept elsewhere, a later check can tell that nothing before it was rewritten or removed. "" where the
	// chain is empty.
	Head string `json:"head"`
	// Faults are the places in which it breaks, the first ones; empty where it holds. More counts those that are not listed.
	Faults []Fault `json:"faults"`
	More   int     `json:"more,omitempty"`
}

// maxFaults is how many faults are listed.
const maxFaults = 20

// Holds reports whether no fault was found.
func (c Chain) Holds() bool { return len(c.Faults) == 0 }

func (c *Chain) fault(entry int64, act, format string, args ...any) {
	if len(c.Faults) >= maxFaults {
		c.More++
		return
	}
	c.Faults = append(c.Faults, Fault{Entry: entry, Act: act, Problem: fmt.Sprintf(format, args...)})
}

// rowColumns are all columns of an act, in the order in which its digest takes them.
const rowColumns = "id, sweep, candidate, at, intent, outcome, settled_at, restore_until, restored_at, purged_at, counted"

// digestRow is the digest of an act's row: each value with its length before it, so that no two rows give the same text.
func digestRow(row interface{ Scan(...any) error }) (act, digest string, err error) {
	values := make([]any, 1+strings.Count(rowColumns, ","))
	places := make([]any, len(values))
	for i := range values {
		places[i] = &values[i]
	}
	if err := row.Scan(places...); err != nil {
		return "", "", err
	}
	h := sha256.New()
	for _, v := range values {
		text := "-"
		switch v := v.(type) {
		case nil:
		case int64:
			text = strconv.FormatInt(v, 10)
		case float64:
			text = strconv.FormatFloat(v, 'g', -1, 64)
		case string:
			text = v
		case []byte:
			text = string(v)
		default:
			return "", "", fmt.Errorf("an act holds a %T", v)
		}
		fmt.Fprintf(h, "%T %d:%s ", v, len(text), text)
	}
	act, _ = values[0].(string)
	return act, hex.EncodeToString(h.Sum(nil)), nil
}

// link is the digest over an entry and the link before it, "" before the first one.
func link(before string, n int64, act, event string, at int64, row string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "winnow.chain/v1 %s %d %q %s %d %s", before, n, act, event, at, row))
	return hex.EncodeToString(sum[:])
}

// chained adds an entry about an act, whose row was just written, to the chain. The transaction has the write lock, so that no two
// entries follow the same one.
func chained(ctx context.Context, tx *sql.Tx, act, event string) error {
	_, row, err := digestRow(tx.QueryRowContext(ctx, "SELECT "+rowColumns+" FROM acts WHERE id = ?", act))
	if err != nil {
		return fmt.Errorf("chain: %w", err)
	}
	var n int64
	var before string
	if _, err := scanOne(ctx, tx, []any{&n, &before}, "SELECT n, link FROM chain_head"); err != nil {
		return fmt.Errorf("chain: %w", err)
	}
	n++
	at := time.Now().UnixNano()
	next := link(before, n, act, event, at, row)
	if _, err := tx.ExecContext(ctx, "INSERT INTO chain (n, act, event, at, row, link) VALUES (?, ?, ?, ?, ?, ?)", n, act, event, at, row, next); err != nil {
		return fmt.Errorf("chain: %w", err)
	}
	_, err = tx.ExecContext(ctx, "INSERT OR REPLACE INTO chain_head (one, n, link) VALUES (1, ?, ?)", n, next)
	return err
}

// Head is the last link of the chain of acts, "" while no act was written down.
func (l *Ledger) Head(ctx context.Context) (string, error) {
	var head string
	_, err := scanOne(ctx, l.db, []any{&head}, "SELECT link FROM chain_head")
	return head, l.explain("read the chain of", err)
}

// Verify checks the chain of acts, and the acts against it, as they are at one moment. known is a link that was kept elsewhere, "" for none: it
// must be in the chain. What does not fit is in the answer; an error is only for what could not be read.
func (l *Ledger) Verify(ctx context.Context, known string) (c Chain, err error) {
	err = l.reading(ctx, func(tx *sql.Tx) (err error) {
		c, err = verify(ctx, tx, strings.ToLower(strings.TrimSpace(known)))
		return err
	})
	if err != nil {
		return Chain{}, l.explain("check the chain of", err)
	}
	return c, nil
}

func verify(ctx context.Context, q querier, known string) (Chain, error) {
	c := Chain{Faults: []Fault{}}
	rows, met := map[string]string{}, known == "" // the last digest of each act's row
	var last int64
	err := eachRow(ctx, q, func(row *sql.Rows) error {
		var n, at int64
		var act, event, digest, got string
		if err := row.Scan(&n, &act, &event, &at, &digest, &got); err != nil {
			return err
		}
		switch {
		case n == last+2:
			c.fault(last+1, "", "entry %d is missing: it was removed", last+1)
		case n != last+1:
			c.fault(last+1, "", "entries %d to %d are missing: they were removed", last+1, n-1)
		}
		if n == last+1 && got != link(c.Head, n, act, event, at, digest) {
			c.fault(n, act, "entry %d (%s of act %s) does not follow from the one before: it, or what stands before it, was edited or put into another order", n, event, act)
		}
		rows[act], c.Head, last = digest, got, n // from here on the chain is held against what it says itself
		c.Entries++
		met = met || got == known
		return nil
	}, "SELECT n, act, event, at, row, link FROM chain ORDER BY n")
	if err != nil {
		return c, err
	}
	if err := verifyHead(ctx, q, &c, last); err != nil {
		return c, err
	}
	err = eachRow(ctx, q, func(row *sql.Rows) error {
		act, digest, err := digestRow(row)
		if err != nil {
			return err
		}
		c.Acts++
		switch want, there := rows[act]; {
		case !there:
			c.fault(0, act, "act %s is not in the chain: it was put into the ledger by hand, or its entries were removed", act)
		case want != digest:
			c.fault(0, act, "act %s is not what was written last: it was edited", act)
		}
		delete(rows, act)
		return nil
	}, "SELECT "+rowColumns+" FROM acts ORDER BY at, id")
	if err != nil {
		return c, err
	}
	if err := removed(ctx, q, &c, rows); err != nil {
		return c, err
	}
	if !met {
		c.fault(0, "", "the link %.64s is not in the chain: this is another ledger, or what led to that link was rewritten or removed", known)
	}
	return c, nil
}

// verifyHead holds the end of the chain, the entry last, against what the ledger says that it is.
func verifyHead(ctx context.Context, q querier, c *Chain, last int64) error {
	var n int64
	var head string
	_, err := scanOne(ctx, q, []any{&n, &head}, "SELECT n, link FROM chain_head")
	switch {
	case err != nil:
		return err
	case n > last:
		c.fault(last+1, "", "the chain ends with entry %d, and it had %d: what came after was removed", last, n)
	case n != last || head != c.Head:
		c.fault(last, "", "the chain ends with entry %d, which is not the last one that was written", last)
	}
	return nil
}

// removed notes the acts that the chain has and the ledger has not, in the order in which they were begun.
func removed(ctx context.Context, q querier, c *Chain, gone map[string]string) error {
	if len(gone) == 0 {
		return nil
	}
	acts, err := texts(ctx, q, "SELECT act FROM chain GROUP BY act ORDER BY min(n)")
	for _, act := range acts {
		if _, there := gone[act]; there {
			c.fault(0, act, "act %s is in the chain and not in the ledger: it was removed", act)
		}
	}
	return err
}
