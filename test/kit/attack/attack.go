// Package attack counts attacks. A test that plays an attacker says what the attack is, tries it as often as it is cheap to, and
// says of each trial whether what it is after held. The rows of all tests make one list: attack, trials, held.
package attack

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
)

// listVar names the variable that holds the path of a file to which every row is appended, one line each, tabs between the columns.
const listVar = "ATTACK_LIST"

// Attack is one attack and how often it was tried.
type Attack struct {
	t     *testing.T
	title string

	mu     sync.Mutex
	trials int
	held   int
}

// New begins an attack. The title says in a sentence what the attacker does. When the test has ended, its row is logged and appended
// to the list; an attack that was never tried fails the test, unless it was skipped.
func New(t *testing.T, title string) *Attack {
	t.Helper()
	a := &Attack{t: t, title: title}
	t.Cleanup(a.row)
	return a
}

// Held records one trial in which nothing was lost, run or revealed that should not have been.
func (a *Attack) Held() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.trials++
	a.held++
}

// Lost records one trial in which the attacker got what the attack is after, and fails the test.
func (a *Attack) Lost(format string, args ...any) {
	a.t.Helper()
	a.mu.Lock()
	a.trials++
	a.mu.Unlock()
	a.t.Errorf("%s: %s", a.title, fmt.Sprintf(format, args...))
}

// Check records one trial: it held when nothing is wrong, which is "", and else was lost.
func (a *Attack) Check(wrong string) {
	a.t.Helper()
	if wrong == "" {
		a.Held()
		return
	}
	a.Lost("%s", wrong)
}

func (a *Attack) row() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.t.Skipped() {
		return
	}
	if a.trials == 0 {
		a.t.Errorf("%s: it was never tried", a.title)
		return
	}
	a.t.Logf("attack: %s; trials: %d; held: %d", a.title, a.trials, a.held)
	path := os.Getenv(listVar)
	if path == "" {
		return
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
	if err != nil {
		a.t.Errorf("append to the list of attacks: %v", err)
		return
	}
	defer f.Close()
	// One write, so that rows of tests that run at the same time do not mix.
	if _, err := fmt.Fprintf(f, "%s\t%d\t%d\n", strings.ReplaceAll(a.title, "\t", " "), a.trials, a.held); err != nil {
		a.t.Errorf("append to the list of attacks: %v", err)
	}
}
