package tmux

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/winnow-reaper/winnow/test/kit/must"
)

const (
	server1  = "server\t12\t1700000000\t3.3a\n"
	session4 = "session\t$4\t1700000001\t1700000002\t1700000004\t\t\tname\n"
	listed   = "listed\n"
	pane5    = "pane\t$4\t%5\t77\t0\t1700000003\t/dev/pts/3\t\n"
	client9  = "client\t$4\t0\t1700000004\t/dev/pts/9\n"
	state4   = "state\t12 1 $4 [/dev/pts/9,client-8] %5=77=0=0=vim \t1700000003 \n"
	window5  = "window\t%5\t@1\tb25d,80x24,0,0,5\t80\t24\tsh\n"
	end      = "end\n"
)

func TestParse(t *testing.T) {
	t.Parallel()
	at := func(n int64) time.Time { return time.Unix(1700000000+n, 0).UTC() }
	whole := &Listing{PID: 12, Started: at(0), Version: "3.3a",
		Sessions: []Session{{ID: "$4", Created: at(1), Activity: at(2), Attached: at(4), Name: "name"}},
		Panes:    []Pane{{Session: "$4", ID: "%5", PID: 77, Activity: at(3), TTY: "/dev/pts/3"}},
		Clients:  []Client{{Session: "$4", Activity: at(4), TTY: "/dev/pts/9"}}}
	named := func(name string) *Listing {
		return &Listing{PID: 12, Started: at(0), Version: "3.3a", Sessions: []Session{{ID: "$4", Created: at(1), Activity: at(2), Attached: at(4), Name: name, Odd: true}}}
	}
	detailed := func(state string) *Listing {
		l := *whole
		l.Detail = &Detail{State: state, Outputs: "1700000003 ", Windows: []Window{{Pane: "%5", ID: "@1", Layout: "b25d,80x24,0,0,5", Width: 80, Height: 24, Name: "sh"}}}
		return &l
	}
	for _, c := range []struct {
		name, out string
		want      *Listing
	}{
		{"whole", server1 + session4 + listed + pane5 + client9 + end, whole},
		{"an empty row", server1 + session4 + listed + "\n" + pane5 + client9 + end, nil},
		{"no client was ever attached", server1 + strings.Replace(session4, "1700000004", "", 1) + listed + end,
			&Listing{PID: 12, Started: at(0), Version: "3.3a", Sessions: []Session{{ID: "$4", Created: at(1), Activity: at(2), Name: "name"}}}},
		{"an attaching at no time", server1 + strings.Replace(session4, "1700000004", "then", 1) + listed + end, nil},
		{"no sessions", server1 + listed, &Listing{PID: 12, Started: at(0), Version: "3.3a"}},
		{"empty", "", nil},
		{"only an end", end, nil},
		{"no end", server1 + session4 + listed + pane5 + client9, nil},
		{"sessions that were not all listed", server1 + session4, nil},
		{"server alone", server1, nil},
		{"a row after the end", server1 + listed + end + session4, nil},
		{"two servers", server1 + server1 + listed + end, nil},
		{"a pane without a session", server1 + listed + pane5 + end, nil},
		{"a client without a session", server1 + listed + client9 + end, nil},
		{"a session twice", server1 + session4 + session4 + listed + end, nil},
		{"a forged row", server1 + strings.Replace(session4, "name", "na\nend", 1) + listed + pane5 + end, nil},
		{"a field too many", server1 + session4 + listed + strings.Replace(pane5, "\n", "\tx\n", 1) + end, nil},
		{"a field too few", server1 + strings.Replace(session4, "\tname", "", 1) + listed + end, nil},
		{"a name with a tab", server1 + strings.Replace(session4, "name", "na\tme", 1) + listed + end, named("na\ufffdme")},
		{"a name with what stands for a newline", server1 + strings.Replace(session4, "name", "na\x01me", 1) + listed + end, named("na\ufffdme")},
		{"a pid that is not a number", strings.Replace(server1, "12", "x", 1) + listed + end, nil},
		{"a time that is not a number", strings.Replace(server1, "1700000000", "", 1) + listed + end, nil},
		{"an id without its sign", server1 + strings.Replace(session4, "$4", "4", 1) + listed + end, nil},
		{"a dead that is neither", server1 + session4 + listed + strings.Replace(pane5, "\t0\t", "\t\t", 1) + end, nil},
		{"in detail", server1 + session4 + listed + pane5 + client9 + "\n" + state4 + "\n" + window5 + "\n" + end, detailed("12 1 $4 [/dev/pts/9,client-8] %5=77=0=0=vim ")},
		{"in detail, a program with an odd name", server1 + session4 + listed + pane5 + client9 + strings.Replace(state4, "vim", "a{}", 1) + window5 + end, detailed("")},
		{"in detail, too much for one command", server1 + session4 + listed + pane5 + client9 + strings.Replace(state4, "vim", strings.Repeat("x", MaxState), 1) + window5 + end, detailed("")},
		{"in detail, no such session", server1 + session4 + listed + pane5 + client9 + "\n\n" + end, whole},
		{"in detail, a program with a tab", server1 + session4 + listed + pane5 + strings.Replace(state4, "vim", "v\tm", 1) + window5 + end, nil},
		{"in detail, a program with a newline", server1 + session4 + listed + pane5 + strings.Replace(state4, "vim", "v\nend", 1) + window5 + end, nil},
		{"in detail, two states", server1 + session4 + listed + pane5 + state4 + state4 + window5 + end, nil},
		{"in detail, a window before the state", server1 + session4 + listed + pane5 + window5 + state4 + end, nil},
		{"a state that was not asked for", server1 + session4 + listed + pane5 + state4 + end, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := parse(c.out, strings.HasPrefix(c.name, "in detail"))
			if (err != nil) != (c.want == nil) {
				t.Fatalf("error %v, want a listing: %v", err, c.want != nil)
			}
			must.Equal(t, c.want, got, "listing")
		})
	}
}

// For every text, a listing holds together: every pane and client is of a session in it, and every id is one.
func FuzzParse(f *testing.F) {
	f.Add(server1 + session4 + listed + pane5 + client9 + end)
	f.Add(server1 + listed)
	f.Add(server1 + session4 + listed + pane5 + state4 + window5 + end)
	f.Add("session\t$4\n")
	f.Fuzz(func(t *testing.T, out string) {
		l, err := parse(out, len(out)%2 == 0)
		if err != nil {
			return
		}
		known := map[string]bool{}
		for _, s := range l.Sessions {
			if !IsSession(s.ID) || known[s.ID] {
				t.Errorf("session %q is no id, or there twice", s.ID)
			}
			known[s.ID] = true
		}
		for _, p := range l.Panes {
			if !IsPane(p.ID) || !known[p.Session] {
				t.Errorf("pane %q of session %q", p.ID, p.Session)
			}
		}
		for _, c := range l.Clients {
			if !known[c.Session] {
				t.Errorf("client of session %q", c.Session)
			}
		}
		if l.PID <= 0 || !strings.HasPrefix(out, "server\t") {
			t.Errorf("pid %d in %q", l.PID, out)
		}
	})
}

func TestParseBoundsWhatIsListed(t *testing.T) {
	t.Parallel()
	const server = "server\t12\t1700000000\t3.3a\n"
	session := func(id, name string) string { return "session\t$" + id + "\t1\t1\t\t\t\t" + name + "\n" }
	if _, err := parse(server+session("1", strings.Repeat("x", maxField))+"listed\nend\n", false); err != nil {
		t.Errorf("the longest name: %v", err)
	}
	if _, err := parse(server+session("1", strings.Repeat("x", maxField+1))+"listed\nend\n", false); err == nil || !strings.Contains(err.Error(), "longer than") {
		t.Errorf("a longer name: %v", err)
	}
	pane := "pane\t$1\t%1\t1\t0\t1\tx\t\n"
	if l, err := parse(server+session("1", "x")+"listed\n"+strings.Repeat(pane, maxRows-4)+"end\n", false); err != nil || len(l.Panes) != maxRows-4 {
		t.Errorf("as many rows as are read: %v", err)
	}
	if _, err := parse(server+session("1", "x")+"listed\n"+strings.Repeat(pane, maxRows-3)+"end\n", false); err == nil || !strings.Contains(err.Error(), "more than") {
		t.Errorf("one row more: %v", err)
	}
}

func BenchmarkParse(b *testing.B) {
	for _, panes := range []int{100, 1000, 10000} {
		var out strings.Builder
		out.WriteString(server1)
		for i := range panes / 10 {
			fmt.Fprintf(&out, "session\t$%d\t1700000001\t1700000002\t\t\t\tname-%d\n", i, i)
		}
		out.WriteString(listed)
		for i := range panes {
			fmt.Fprintf(&out, "pane\t$%d\t%%%d\t%d\t0\t1700000003\t/dev/pts/%d\t\n", i/10, i, i+2, i)
		}
		out.WriteString(end)
		b.Run(fmt.Sprintf("panes=%d", panes), func(b *testing.B) {
			for b.Loop() {
				l, err := parse(out.String(), false)
				if err != nil || len(l.Panes) != panes {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed())/float64(b.N)/float64(panes)/float64(time.Nanosecond), "ns/pane")
		})
	}
}

func TestStartedFor(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{"/tmp/a,b/s,12,4": "$4", "/s,12,-1": "$-1", "/s,13,4": "", "": ""} {
		if got, known := StartedFor(value, 12); got != want || known != (want != "") {
			t.Errorf("%q: %q, %v, want %q", value, got, known, want)
		}
	}
}
