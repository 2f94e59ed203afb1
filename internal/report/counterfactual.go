package report

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/internal/sys/termsafe"
	"github.com/winnow-reaper/winnow/internal/text"
)

// spans are the facts that are a number of seconds, by the last part of their name.
var spans = []string{
	"age", "idle", "made", "client_idle", "owner_seen", "steady", "first", "last", "completed", "ended", "started", "seen", "quiet",
}

// Counterfactual says in words what would have to be otherwise: "it would go if input.dir.git.dirty were 0 (it is 3)". Empty where that was not
// searched.
func Counterfactual(o *decision.Counterfactual) string {
	if o == nil {
		return ""
	}
	would := "it would go"
	if o.Verdict == decision.Spare {
		would = "it would stay"
	}
	if len(o.Ways) == 0 {
		return "nothing that was tried would change this: " + o.Limit
	}
	return would + " " + text.Join(o.Ways, ", or ", func(w decision.Way) string { return "if " + Way(w) })
}

// brief is Counterfactual for one line of many: without why nothing was found.
func brief(o *decision.Counterfactual) string {
	if o != nil && len(o.Ways) == 0 {
		return "nothing that was tried would change this"
	}
	return Counterfactual(o)
}

// Way is one way in words, without the "if" before it.
func Way(w decision.Way) string {
	return text.Join(w, " and ", change)
}

func change(c decision.Change) string {
	if c.Fact == "input.sighting" {
		return earlier(c)
	}
	if _, object := c.To.(map[string]any); object && strings.Contains(c.Fact, ".panes[") && strings.HasSuffix(c.Fact, "]") {
		return "nothing but its shell ran in " + c.Fact
	}
	list, _ := c.To.([]any)
	_, isList := c.To.([]any)
	_, object := c.From.(map[string]any)
	switch {
	case c.Gone && (object || strings.HasSuffix(c.Fact, "]")):
		return "there were no " + c.Fact + is(c)
	case c.Gone:
		return c.Fact + " were not known" + is(c)
	case isList && len(list) == 0, c.To == "":
		return c.Fact + " were empty" + is(c)
	}
	to := shown(c.Fact, c.To)
	if c.Bound != "" {
		to = c.Bound + " " + to
	}
	return c.Fact + " were " + to + is(c)
}

// earlier is an earlier look that found the same.
func earlier(c decision.Change) string {
	if c.Gone {
		return "no earlier look had found the same"
	}
	to, _ := c.To.(map[string]any)
	said := fmt.Sprintf("a look %s ago had found the same", shown("first", to["first"]))
	if _, idle := to["idle"]; idle {
		said += ", and it had done nothing since"
	}
	return said
}

// maxFrom is how many columns of what a fact is are shown in a sentence.
const maxFrom = 60

// is says what the fact is now.
func is(c decision.Change) string {
	if c.Unknown {
		return " (it is not known)"
	}
	from := shown(c.Fact, c.From)
	if list, ok := c.From.([]any); ok && len(from) > maxFrom {
		return fmt.Sprintf(" (it has %d)", len(list))
	}
	if len(from) > maxFrom {
		return ""
	}
	return " (it is " + from + ")"
}

// shown is a fact's value for a person: seconds as a span of time.
func shown(fact string, v any) string {
	if n, ok := number(v); ok && slices.Contains(spans, fact[strings.LastIndex(fact, ".")+1:]) && n >= 1 {
		return text.Span(time.Duration(n * float64(time.Second)))
	}
	data, err := json.Marshal(v)
	if err != nil {
		return text.Clean(fmt.Sprint(v))
	}
	return text.Clean(string(termsafe.JSON(data)))
}

func number(v any) (float64, bool) {
	switch n := v.(type) {
	case json.Number:
		f, err := n.Float64()
		return f, err == nil
	case float64:
		return n, true
	case int:
		return float64(n), true
	}
	return 0, false
}
