package sweep

import (
	"github.com/winnow-reaper/winnow/internal/look"
)

// Machine looks, judges and acts.
type Machine struct{ look.Looker }
