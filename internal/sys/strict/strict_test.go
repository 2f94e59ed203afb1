package strict_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/winnow-reaper/winnow/internal/sys/strict"
	"github.com/winnow-reaper/winnow/test/kit/attack"
	"github.com/winnow-reaper/winnow/test/kit/wait"
)

type section struct {
	Grace string `json:"grace"`
	Deep  struct {
		Count int `json:"count"`
	} `json:"deep"`
}

type inner struct {
	Shells []string `json:"shells"`
}

type shape struct {
	Version int               `json:"version" required:"a file of Winnow begins with version: 1"`
	Rules   section           `json:"rules"`
	Items   []section         `json:"items"`
	Table   map[string]string `json:"table"`
	On      *bool             `json:"on"`
	Share   float64           `json:"share"`
	Memory  uint64            `json:"memory"`
	Hidden  string            `json:"-"`
	inner
	Both struct{ inner } `json:"both"`
}

func check(text string) error {
	_, err := strict.Read("f", []byte(text), strict.Shape{Type: reflect.TypeFor[shape]()}, nil)
	return err
}

func TestCheckNamesTheLineTheKeyAndTheNearest(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"version: 1\nrules:\n  deep:\n    cuont: 1\n":   `f:4: unknown key "rules.deep.cuont"; the nearest is "rules.deep.count"`,
		"version: 1\ndeep: {count: 1}\n":                `f:2: unknown key "deep"; the nearest is "items.deep"`,
		"version: 1\nitems: [{grace: x}, {grase: x}]\n": `f:2: unknown key "items[1].grase"; the nearest is "items[1].grace"`,
		"version: 1\nHidden: x\n":                       `f:2: unknown key "Hidden"; at the top there are both, items, memory, on, rules, share, shells, table, version`,
		"version: 1\ntable: {a: 1}\n":                   `f:2: table.a: it is "1"; it wants a text: put quotes around it`,
		"version: 1\ntable: {a: x, a: y}\n":             `f:2: key "table.a" stands twice, on line 2 too: one of them would be passed over`,
		"version: 1\non: 1\n":                           `f:2: on: it is "1"; it wants true or false`,
		"version: 1\nshare: .inf\n":                     `f:2: share: it is ".inf"; it wants a number`,
		"version: 1\nmemory: 99999999999999999999\n":    `f:2: memory: it is "99999999999999999999"; it wants a whole number that is not negative`,
		"version: 1\nx: 1\ny: 1\n":                      "f:2: unknown key \"x\"; the nearest is \"on\"\nf:3: unknown key \"y\"; the nearest is \"on\"",
		"version: 1\nboth: {shels: []}\n":               `f:2: unknown key "both.shels"; the nearest is "both.shells"`,
		"rules: {}\n":                                   "f:1: version is missing: a file of Winnow begins with version: 1",
	} {
		if err := check(text); err == nil || err.Error() != want {
			t.Errorf("%q: want %q, got %v", text, want, err)
		}
	}
	if err := check("version: 1\nshells: [a]\nboth: {shells: []}\non: true\nshare: 1\nmemory: 0\nrules: {}\nitems: []\ntable: {a: b}\n"); err != nil {
		t.Errorf("a good one: %v", err)
	}
	many := "version: 1\n" + strings.Repeat("rules: x\n", 50)
	if err := check(many); err == nil || strings.Count(err.Error(), "\n") != 10 || !strings.Contains(err.Error(), "and 40 more like these") {
		t.Errorf("50 mistakes: %v", err)
	}
}

// TestAttackReadingTakesLong feeds what makes parsers slow, each as large as a configuration may be.
func TestAttackReadingTakesLong(t *testing.T) {
	a := attack.New(t, "a configuration of the greatest size that makes parsers slow")
	for _, part := range []string{"[", "{", "- ", "? ", "a: ", "\n", " ", "&a ", "*a ", "'", "\"", "|\n", "%", "#", "a\n", "- a\n", "{a: ", "[a, ", "---\n", "!a ", "a: b\n", "\"\\x", ": ", ",", "é", "<<: ", "- - ", "a: &a [*a]\n", ">\n "} {
		for _, head := range []string{"", "version: 1\nx: "} {
			text := head + strings.Repeat(part, (256<<10)/len(part))
			began := time.Now()
			err := check(text)
			switch took := time.Since(began); {
			case took > wait.Patience:
				a.Lost("%q again and again after %q took %s", part, head, took)
			case err == nil:
				a.Lost("%q again and again after %q is good", part, head)
			default:
				t.Logf("%q after %q: %s", part, head, took)
				a.Held()
			}
		}
	}
}
