package ledger

// EverySweep are the questions about acts that every sweep asks, with the index that answers each.
var EverySweep = map[string]string{unsettled: "acts_unsettled", restorable: "acts_kept", expired: "acts_kept"}

// Remember keeps a value under a name, as an earlier version may have.
var Remember = (*Ledger).remember

// Path is the ledger's file.
func (l *Ledger) Path() string { return l.path }
