package ops

import (
	"context"
	"regexp"
	"time"

	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/document"
	"github.com/winnow-reaper/winnow/internal/ledger"
)

// History gives the sweeps and acts since a time.
func (o *Ops) History(ctx context.Context, since time.Time) (document.History, error) {
	h := document.History{Sweeps: []ledger.Sweep{}, Acts: []ledger.Act{}}
	err := o.ReadLedger(func(l *ledger.Ledger) (err error) {
		if h.Sweeps, err = l.Sweeps(ctx, since); err != nil {
			return err
		}
		h.Acts, err = l.Acts(ctx, since)
		return err
	})
	return h, err
}

// VerifyHistory checks the chain of acts. known is a link that was kept elsewhere, "" where there is no such link.
func (o *Ops) VerifyHistory(ctx context.Context, known string) (document.Verified, error) {
	v := document.Verified{Ledger: o.LedgerPath(), Chain: ledger.Chain{Faults: []ledger.Fault{}}}
	if known != "" && !linkPattern.MatchString(known) {
		return v, config.Usagef("--head: %.80q is no link: it has 64 hexadecimal digits, as winnow history --verify prints it", known)
	}
	read := false
	err := o.ReadLedger(func(l *ledger.Ledger) (err error) {
		read = true
		v.Chain, err = l.Verify(ctx, known)
		return err
	})
	if !read && known != "" {
		v.Faults = append(v.Faults, ledger.Fault{Problem: "there is no ledger, so the link is not in it: it was removed, or this is another state folder"})
	}
	v.Holds = v.Chain.Holds()
	return v, err
}

var linkPattern = regexp.MustCompile(`^\s*[0-9a-fA-F]{64}\s*$`)
