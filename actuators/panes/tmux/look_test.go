package tmux

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"winnow/actuators/panes"
)

const (
	server1  = "server\t12\t1700000000\n"
	session4 = "session\t$4\t1700000001\t1700000002\t0\t1\t/dev/pts/3\tname\n"
	pane5    = "pane\t@1\tb25d,80x24,0,0,5\t80\t24\t0\t%5\t77\t0\tvim\t1700000003\tsh\n"
	end      = "end\n"
)

func TestParseView(t *testing.T) {
	t.Parallel()
	empty := &view{serverPID: 12, serverStart: "1700000000"}
	full := &view{serverPID: 12, serverStart: "1700000000", id: "$4", created: "1700000001", activity: "1700000002", grouped: "0", name: "name",
		attached: 1, attachedAll: "1", attachedTo: "/dev/pts/3",
		panes: []paneView{{window: "@1", layout: "b25d,80x24,0,0,5", width: 80, height: 24, id: "%5", pid: 77, command: "vim", activity: "1700000003", windowName: "sh"}}}
	for _, c := range []struct {
		name, out string
		want      *view
	}{
		{"whole", server1 + "other\n" + session4 + "listed\n\n" + pane5 + "\nclient\n" + end, full},
		{"no such session", server1 + "other\nlisted\n\n" + end, empty},
		{"no session at all", server1 + "listed\n", empty},
		{"nothing", "", nil},
		{"cut after the sessions", server1 + session4 + "listed\n", nil},
		{"cut after other sessions", server1 + "other\nlisted\n", nil},
		{"cut before the sessions were listed", server1 + "other\n", nil},
		{"no server", "other\nlisted\n" + end, nil},
		{"the session twice", server1 + session4 + session4 + "listed\n" + end, nil},
		{"a pane without a pid", server1 + session4 + "listed\n" + strings.Replace(pane5, "77", "", 1) + end, nil},
		{"a row after the end", server1 + "listed\n" + end + "other\n", nil},
		{"a name with a tab", server1 + strings.Replace(session4, "name", "na\tme", 1) + "listed\n" + end, nil},
		{"a row of its own", server1 + "hello\nlisted\n" + end, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, whole := parseView(c.out)
			if whole != (c.want != nil) {
				t.Fatalf("whole: %v, want %v", whole, c.want != nil)
			}
			if diff := cmp.Diff(c.want, got, cmp.AllowUnexported(view{}, paneView{})); whole && diff != "" {
				t.Errorf("view (-want +got):\n%s", diff)
			}
		})
	}
}

// Whatever comes: a view that says the session is gone comes from an answer that was whole, and ids are ids.
func FuzzParseView(f *testing.F) {
	f.Add(server1 + "other\n" + session4 + "listed\n" + pane5 + "client\n" + end)
	f.Add(server1 + "listed\n")
	f.Fuzz(func(t *testing.T, out string) {
		v, whole := parseView(out)
		if !whole {
			return
		}
		if v.id == "" && !strings.HasSuffix(out, end) && !strings.Contains(out, "listed\n") {
			t.Errorf("the session counts as gone in %q", out)
		}
		if v.serverPID <= 0 || v.id != "" && !sessionID.MatchString(v.id) {
			t.Errorf("server %d, session %q", v.serverPID, v.id)
		}
		for _, p := range v.panes {
			if !paneID.MatchString(p.id) || p.pid <= 0 && !p.dead {
				t.Errorf("pane %q of pid %d", p.id, p.pid)
			}
		}
	})
}

func TestParseStat(t *testing.T) {
	t.Parallel()
	rest := "77 34817 9 %F 0 0 0 0 0 0 0 0 20 0 %T 0 4242 0 3 0"
	stat := func(state, threads, flags string) string {
		return "5 (a) b) " + state + " 1 5 " + strings.NewReplacer("%F", flags, "%T", threads).Replace(rest)
	}
	got, err := panes.ParseStat([]byte(stat("S", "1", "4194304")))
	if err != nil || got.Comm != "a) b" || got.Session != 77 || got.Start != 4242 || got.Kernel || got.RSS <= 0 {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := panes.ParseStat([]byte(stat("S", "1", "2097152"))); err != nil || !got.Kernel {
		t.Errorf("a kernel thread: %+v, %v", got, err)
	}
	for threads, over := range map[string]bool{"2": false, "1": true, "0": true} {
		if got, err := panes.ParseStat([]byte(stat("Z", threads, "0"))); err != nil || got.Over() != over {
			t.Errorf("a zombie with %s threads: %+v, %v", threads, got, err)
		}
	}
	for _, text := range []string{"", "5", "5 (a", "5 (a) S", strings.Replace(stat("S", "1", "0"), "4242", "x", 1)} {
		if got, err := panes.ParseStat([]byte(text)); err == nil {
			t.Errorf("%q gave %+v", text, got)
		}
	}
}
