package notify

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/internal/text"
)

// Schema names the document that a webhook gets. docs/reference/schemas/notification.json is generated from it.
const Schema = "winnow.notification/v1"

// Document is one message. Every name in it is escaped as in text for a terminal (package plain).
type Document struct {
	Schema string `json:"schema" jsonschema:"enum=winnow.notification/v1"`
	// ID names the message: one that is tried again has the same.
	ID   string    `json:"id"`
	At   time.Time `json:"at"`
	Host string    `json:"host,omitempty"`
	// Test is true for what winnow notify test sends.
	Test bool `json:"test,omitempty"`
	// Title and Text say all of it to a person; Text has several lines.
	Title string `json:"title"`
	Text  string `json:"text"`
	// Sweeps counts the sweeps that it is about.
	Sweeps int `json:"sweeps"`
	// Acts are what was done since the message before, Alarms, Asks and Problems what is new since then.
	Acts     *Acts `json:"acts,omitempty"`
	Alarms   *List `json:"alarms,omitempty"`
	Asks     *List `json:"asks,omitempty"`
	Problems *List `json:"problems,omitempty"`
	// Lost counts the messages before it that could not be delivered to this receiver, LostActs the acts that stood in them.
	Lost     int `json:"lost,omitempty"`
	LostActs int `json:"lost_acts,omitempty"`
}

// Acts counts acts.
type Acts struct {
	// Done counts what went, Failed the acts that failed or were refused, and that did not the sweep before.
	Done   int `json:"done"`
	Failed int `json:"failed"`
	// Kinds counts what went by kind of candidate.
	Kinds map[string]int `json:"kinds"`
	// Purged counts what was removed from the trash for good. FreedBytes is what acts and purges freed on disk, as far as it was counted.
	Purged     int   `json:"purged"`
	FreedBytes int64 `json:"freed_bytes"`
	// First are the first of them, as many as notify.names.
	First []Item `json:"first,omitempty"`
}

// List counts things, and has the first of them, as many as notify.names; where that is 0, their rules alone.
type List struct {
	Count int    `json:"count"`
	First []Item `json:"first,omitempty"`
	// Rules counts them by rule.
	Rules map[string]int `json:"rules"`
}

// Item is one act, alarm, candidate or problem. What does not apply is absent.
type Item struct {
	Rule string `json:"rule,omitempty"`
	Kind string `json:"kind,omitempty"`
	// ID is the candidate's, Name what a person calls it.
	ID      string `json:"id,omitempty"`
	Name    string `json:"name,omitempty"`
	Outcome string `json:"outcome,omitempty"`
	Message string `json:"message,omitempty"`
}

const (
	// maxName and maxMessage are how many characters of a name and a message are sent, maxRules how many rules are counted.
	maxName    = 200
	maxMessage = 600
	maxRules   = 50
)

// short is s escaped, and cut to n characters.
func short(s string, n int) string {
	s = text.Clean(s)
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n-1]) + "…"
}

func (i Item) cleaned() Item {
	return Item{Rule: short(i.Rule, maxName), Kind: short(i.Kind, maxName), ID: short(i.ID, maxName), Name: short(text.Home(i.Name), maxName),
		Outcome: short(i.Outcome, maxName), Message: short(i.Message, maxMessage)}
}

// take adds an item to those that are named, as far as there is room.
func take(first []Item, i Item, names int) []Item {
	if len(first) < names {
		first = append(first, i.cleaned())
	}
	return first
}

func (l *List) add(i Item, names int) {
	l.Count++
	l.First = take(l.First, i, names)
	if rule := short(i.Rule, maxName); l.Rules[rule] > 0 || len(l.Rules) < maxRules {
		l.Rules[rule]++
	}
}

// write writes Title and Text from what else the document has.
func (d *Document) write() {
	var parts, lines []string
	if a := d.Acts; a != nil {
		if a.Done > 0 {
			kinds := slices.Sorted(maps.Keys(a.Kinds))
			parts = append(parts, text.Join(kinds, ", ", func(kind string) string { return text.Plural(a.Kinds[kind], kind) })+" went")
		}
		if a.Failed > 0 {
			parts = append(parts, text.Plural(a.Failed, "act")+" failed")
		}
		if a.Purged > 0 {
			parts = append(parts, fmt.Sprintf("%d removed from the trash", a.Purged))
		}
		for _, i := range a.First {
			line := i.Outcome + ": " + i.Kind + " " + i.Name
			if i.Message != "" {
				line += ": " + i.Message
			}
			lines = append(lines, line)
		}
		lines = more(lines, a.Done+a.Failed-len(a.First), len(a.First))
		if a.FreedBytes > 0 {
			lines = append(lines, "freed: "+text.Size(a.FreedBytes))
		}
	}
	part := func(l *List, title, what string, line func(Item) string) {
		if l == nil {
			return
		}
		parts = append(parts, fmt.Sprintf(title, text.Plural(l.Count, what)))
		for _, i := range l.First {
			lines = append(lines, line(i))
		}
		if len(l.First) > 0 {
			lines = more(lines, l.Count-len(l.First), len(l.First))
			return
		}
		for _, rule := range slices.Sorted(maps.Keys(l.Rules)) {
			lines = append(lines, fmt.Sprintf("%s: %d", rule, l.Rules[rule]))
		}
	}
	part(d.Problems, "%s", "problem", func(i Item) string { return "problem " + i.Rule + ": " + i.Message })
	part(d.Alarms, "%s", "new alarm", func(i Item) string { return "alarm " + i.Rule + ": " + i.Message })
	part(d.Asks, "%s to be asked about", "candidate", func(i Item) string { return "asks: " + i.Kind + " " + i.Name + ": " + i.Message + " (" + i.Rule + ")" })
	if d.Asks != nil {
		lines = append(lines, "winnow review lets you choose what goes")
	}
	if d.Lost > 0 {
		lines = append(lines, fmt.Sprintf("%s before this one could not be delivered; %s stood in them", text.Plural(d.Lost, "message"), text.Plural(d.LostActs, "act")))
	}
	if d.Test {
		parts, lines = []string{"a test"}, []string{"This is what winnow notify test sends. It arrives where notifications are read."}
	}
	d.Title = "Winnow"
	if d.Host != "" {
		d.Title += " on " + d.Host
	}
	d.Title += ": " + strings.Join(parts, ", ")
	d.Text = strings.Join(lines, "\n")
}

func more(lines []string, n, named int) []string {
	if n > 0 && named > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", n))
	}
	return lines
}

// digest is what waits to be sent, put together from one sweep or several.
type digest struct {
	Document
	// keys are those of what is new in it.
	keys []string
}

func (d *digest) empty() bool {
	return d.Acts == nil && d.Alarms == nil && d.Asks == nil && d.Problems == nil
}

// act adds an act.
func (d *digest) act(i Item, names int) {
	a := d.acts()
	if i.Outcome == decision.Done {
		a.Done++
		a.Kinds[short(i.Kind, maxName)]++
	} else {
		a.Failed++
	}
	a.First = take(a.First, i, names)
}

func (d *digest) acts() *Acts {
	if d.Acts == nil {
		d.Acts = &Acts{Kinds: map[string]int{}}
	}
	return d.Acts
}

// add adds what is new of a group.
func (d *digest) add(s Standing, names int) {
	if s.Group == GroupActs {
		d.act(s.Item, names)
		return
	}
	list := map[string]**List{GroupAlarms: &d.Alarms, GroupAsks: &d.Asks, GroupProblems: &d.Problems}[s.Group]
	if *list == nil {
		*list = &List{Rules: map[string]int{}}
	}
	(*list).add(s.Item, names)
}
