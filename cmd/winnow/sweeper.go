package main

import (
	"github.com/winnow-reaper/winnow/internal/ledger"
)

// acting is the lock under which this user's sweeps act. It is zero but in tests, which do not wait for one another.
var acting ledger.Acting
