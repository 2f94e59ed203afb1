package tmux

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const (
	server1  = "server\t12\t1700000000\t3.3a\n"
	session4 = "session\t$4\t1700000001\t1700000002\t\t\tname\n"
	listed   = "listed\n"
	pane5    = "pane\t$4\t%5\t77\t0\t1700000003\t/dev/pts/3\n"
	client   = "client\t$4\t0\t1700000004\t/dev/pts/9\n"
	end      = "end\n"
)

func TestParse(t *testing.T) {
	t.Parallel()
	at := func(n int64) time.Time { return time.Unix(1700000000+n, 0).UTC() }
	whole := &listing{pid: 12, started: at(0), version: "3.3a",
		sessions: []sessionRow{{id: "$4", created: at(1), activity: at(2), name: "name"}},
		panes:    []paneRow{{session: "$4", id: "%5", pid: 77, activity: at(3), tty: "/dev/pts/3"}},
		clients:  []clientRow{{session: "$4", activity: at(4), tty: "/dev/pts/9"}}}
	named := func(name string) *listing {
		return &listing{pid: 12, started: at(0), version: "3.3a", sessions: []sessionRow{{id: "$4", created: at(1), activity: at(2), name: name, odd: true}}}
	}
	for _, c := range []struct {
		name, out string
		want      *listing
	}{
		{"whole", server1 + session4 + listed + pane5 + client + end, whole},
		{"an empty row", server1 + session4 + listed + "\n" + pane5 + client + end, nil},
		{"no sessions", server1 + listed, &listing{pid: 12, started: at(0), version: "3.3a"}},
		{"empty", "", nil},
		{"only an end", end, nil},
		{"no end", server1 + session4 + listed + pane5 + client, nil},
		{"sessions that were not all listed", server1 + session4, nil},
		{"server alone", server1, nil},
		{"a row after the end", server1 + listed + end + session4, nil},
		{"two servers", server1 + server1 + listed + end, nil},
		{"a pane of nobody", server1 + listed + pane5 + end, nil},
		{"a client of nobody", server1 + listed + client + end, nil},
		{"a session twice", server1 + session4 + session4 + listed + end, nil},
		{"a forged row", server1 + strings.Replace(session4, "name", "na\nend", 1) + listed + pane5 + end, nil},
		{"a field too many", server1 + session4 + listed + strings.Replace(pane5, "\n", "\tx\n", 1) + end, nil},
		{"a field too few", server1 + strings.Replace(session4, "\tname", "", 1) + listed + end, nil},
		{"a name with a tab", server1 + strings.Replace(session4, "name", "na\tme", 1) + listed + end, named("na\ufffdme")},
		{"a name with what stands for a newline", server1 + strings.Replace(session4, "name", "na\x01me", 1) + listed + end, named("na\ufffdme")},
		{"a pid that is none", strings.Replace(server1, "12", "x", 1) + listed + end, nil},
		{"a time that is none", strings.Replace(server1, "1700000000", "", 1) + listed + end, nil},
		{"an id that is none", server1 + strings.Replace(session4, "$4", "4", 1) + listed + end, nil},
		{"a dead that is neither", server1 + session4 + listed + strings.Replace(pane5, "\t0\t", "\t\t", 1) + end, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := parse(c.out)
			if (err != nil) != (c.want == nil) {
				t.Fatalf("error %v, want a listing: %v", err, c.want != nil)
			}
			if diff := cmp.Diff(c.want, got, cmp.AllowUnexported(listing{}, sessionRow{}, paneRow{}, clientRow{})); diff != "" {
				t.Errorf("listing (-want +got):\n%s", diff)
			}
		})
	}
}

// Whatever comes, a listing holds together: every pane and client is of a session in it, and every id is one.
func FuzzParse(f *testing.F) {
	f.Add(server1 + session4 + listed + pane5 + client + end)
	f.Add(server1 + listed)
	f.Add("session\t$4\n")
	f.Fuzz(func(t *testing.T, out string) {
		l, err := parse(out)
		if err != nil {
			return
		}
		known := map[string]bool{}
		for _, s := range l.sessions {
			if !native(s.id, '$') || known[s.id] {
				t.Errorf("session %q is no id, or there twice", s.id)
			}
			known[s.id] = true
		}
		for _, p := range l.panes {
			if !native(p.id, '%') || !known[p.session] {
				t.Errorf("pane %q of session %q", p.id, p.session)
			}
		}
		for _, c := range l.clients {
			if !known[c.session] {
				t.Errorf("client of session %q", c.session)
			}
		}
		if l.pid <= 0 || !strings.HasPrefix(out, "server\t") {
			t.Errorf("pid %d in %q", l.pid, out)
		}
	})
}

func TestReadStat(t *testing.T) {
	t.Parallel()
	comm, ticks, err := readStat("/proc", 1<<22+1)
	if err == nil {
		t.Errorf("no such process gave %q, %d", comm, ticks)
	}
}
