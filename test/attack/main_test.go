// Package attack_test attacks the program as a whole, from where another user of the machine or a repository stands.
package attack_test

import (
	"testing"

	"github.com/winnow-reaper/winnow/test/kit/attack"
)

func TestMain(m *testing.M) { attack.Main(m) }
