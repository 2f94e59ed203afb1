package document

import (
	"github.com/winnow-reaper/winnow/internal/ledger"
	"github.com/winnow-reaper/winnow/internal/ledger/lock"
)

// Act, Sweep and Pause are the ledger's, as documents carry them.
type (
	Act   = ledger.Act
	Sweep = ledger.Sweep
	Pause = lock.Pause
)

// History is what winnow history prints as JSON.
type History struct {
	Sweeps []ledger.Sweep `json:"sweeps"`
	Acts   []ledger.Act   `json:"acts"`
}

// Verified is what winnow history --verify prints as JSON.
type Verified struct {
	Ledger string `json:"ledger"`
	// Holds is false where there are faults.
	Holds bool `json:"holds"`
	ledger.Chain
}
