package ledger

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/winnow-reaper/winnow/internal/sys/safeopen"
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

// maxSize is the greatest ledger that is opened, in bytes. That of a year of sweeps takes up less than a hundredth of
// it (BenchmarkYear).
const maxSize = 8 << 30

// beside are the ends of the names of the files that SQLite takes for parts of a database.
var beside = []string{"", "-wal", "-shm", "-journal"}

// trusted makes sure that the ledger and the files beside it are regular files that only this user and root can write,
// and gives the ledger's real path. It only looks at them: to open one besides SQLite would drop the locks that this
// process has on it.
func trusted(path string) (string, error) {
	real, err := safeopen.Path(path)
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("it is a link that leads nowhere: %w", err)
	}
	if err != nil {
		return "", unfit(path, err)
	}
	for _, end := range beside {
		err := safeopen.CheckRegular(real+end, safeopen.Want{Max: maxSize, Ruling: true})
		if err != nil && (end == "" || !errors.Is(err, fs.ErrNotExist)) {
			return "", unfit(path, err)
		}
	}
	return real, nil
}

// unfit says why a file is not taken for the ledger. It is an ErrCorrupt: another user, program or version made it.
func unfit(path string, err error) error {
	return fmt.Errorf("open ledger %s: %w: %w; nothing was read or written: move it aside, and a new one is made, or name another folder with --state",
		path, ErrCorrupt, err)
}

// patience is how long the look at a ledger may take before it is opened. It reads the schema, which takes a
// millisecond.
const patience = busyTimeout + 5*time.Second

// inspect refuses, before anything of it is changed, a file that is not a ledger, one of another version, and one that
// holds anything but the tables: a trigger would do more than what is written says, and a view would give other rows.
func inspect(path string, tables schema) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	l := connect(path, tables, "ro", "query_only(1)")
	v, have, err := l.statements(ctx)
	if err = errors.Join(l.explain("open", err), l.Close()); err != nil {
		return err
	}
	var want []string
	switch {
	case v > tables.version:
		return fmt.Errorf("open ledger %s: %w of winnow (%d, this one knows %d); nothing was touched: use that version, or another --state",
			path, ErrNewer, v, tables.version)
	case v == tables.version:
		want, err = expected(ctx, tables)
	case v != 0:
		err = unfit(path, fmt.Errorf("its version is %d, and this winnow reads %d; only one of that version restores its acts",
			v, tables.version))
	}
	if err != nil {
		return err
	}
	return sameShape(path, v, have, want)
}

// sameShape compares what a ledger of version v holds with what it is to hold.
func sameShape(path string, v int, have, want []string) error {
	for _, s := range have {
		if !slices.Contains(want, s) {
			return unfit(path, fmt.Errorf("version %d has no %s", v, begin(s)))
		}
	}
	if len(have) > len(want) {
		return unfit(path, errors.New("its schema defines something twice"))
	}
	for _, s := range want {
		if !slices.Contains(have, s) {
			return unfit(path, fmt.Errorf("version %d has %s, and this file has not, or another one", v, begin(s)))
		}
	}
	return nil
}

// begin is enough of a statement to know it by: CREATE TABLE sweeps.
func begin(statement string) string {
	words := strings.FieldsFunc(statement, func(r rune) bool { return r == ' ' || r == '(' || r == '\n' || r == '\t' })
	return fmt.Sprintf("%.80q", strings.Join(words[:min(len(words), 3)], " "))
}

// expected are the statements that SQLite keeps of a new file, as it makes one in memory.
func expected(ctx context.Context, tables schema) ([]string, error) {
	l := connect("/ledger", tables, "memory") // no file has this name: the mode keeps it in memory
	var all []string
	err := l.makeTables(ctx)
	if err == nil {
		_, all, err = l.statements(ctx)
	}
	if err = errors.Join(err, l.Close()); err != nil {
		return nil, fmt.Errorf("make a ledger of version %d to compare with: %w", tables.version, err)
	}
	return all, nil
}

// maxObjects is more than any version has.
const maxObjects = 1000

// statements gives the version and the statements of everything in the file, of one moment: another process may just
// be making it. What SQLite makes on its own account is left out: indexes that a table implies, which have no
// statement, and the statistics of ANALYZE.
func (l *Ledger) statements(ctx context.Context) (v int, all []string, err error) {
	err = eachRow(ctx, l.db, func(row *sql.Rows) error {
		var name, statement sql.NullString
		if err := row.Scan(&v, &name, &statement); err != nil {
			return err
		}
		if len(all) > maxObjects {
			return fmt.Errorf("%w: it has more than %d tables", ErrCorrupt, maxObjects)
		}
		implied := !statement.Valid && (!name.Valid || strings.HasPrefix(name.String, "sqlite_autoindex_"))
		if !implied && !slices.Contains(statistics, statement.String) {
			all = append(all, statement.String)
		}
		return nil
	}, "SELECT v.user_version, s.name, s.sql FROM pragma_user_version AS v LEFT JOIN sqlite_schema AS s")
	return v, all, err
}

// statistics are the tables that ANALYZE makes.
var statistics = []string{"CREATE TABLE sqlite_stat1(tbl,idx,stat)", "CREATE TABLE sqlite_stat4(tbl,idx,neq,nlt,ndlt,sample)"}
