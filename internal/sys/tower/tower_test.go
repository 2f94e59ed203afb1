package tower

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/winnow-reaper/winnow/internal/sys/proc"
	"github.com/winnow-reaper/winnow/test/kit/must"
	"github.com/winnow-reaper/winnow/test/kit/wait"
)

func FuzzAnswers(f *testing.F) {
	for _, seed := range []string{
		`{"terminals":[{"id":"b26afcb2-e6ce-4410-9950-93df6cbfe922","pid":-1,"status":"running","lastDataAt":1795196884109.5}]}`,
		`{"candidates":[{"pid":5688,"rssKb":62468,"ageMs":118665.26220703125}],"graceMs":0}`, `{"version":"3.3.1"}`, `{"error":"STARTING_UP"}`, `null`, `[]`,
		`{"terminals":[{"id":"b26afcb2-e6ce-4410-9950-93df6cbfe922"},{"id":"b26afcb2-e6ce-4410-9950-93df6cbfe922"}]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		entries, err := parseTerminals(body)
		seen := map[string]bool{}
		for _, e := range entries {
			if err != nil || !ID.MatchString(e.ID) || seen[e.ID] || e.Process() < 0 {
				t.Errorf("gave %+v, %v", e, err)
			}
			seen[e.ID] = true
		}
		pids, err := parseHusks(body)
		for _, pid := range pids {
			if err != nil || pid <= 0 {
				t.Errorf("gave %d, %v", pid, err)
			}
		}
		if v, err := parseVersion(body); (v == "") != (err != nil) {
			t.Errorf("gave %q, %v", v, err)
		}
		Answer{body: body}.Word()
	})
}

func TestCommand(t *testing.T) {
	t.Parallel()
	const marker = "/usr/lib/codev/shellper-main.js"
	for name, tc := range map[string]struct {
		argv []string
		want Command
	}{
		"a shellper": {[]string{"node", marker, `{"command":"x","socketPath":"/run/a/shellper-1.sock","env":{"A":"B"},"cols":80}`},
			Command{Known: true, Shellper: true, Socket: "/run/a/shellper-1.sock"}},
		"of another folder, for an architect": {[]string{"node", marker, `{"socketPath":"/r/s.sock","env":{"CODEV_AGENT_FARM_DIR":"/farm","CODEV_ARCHITECT_NAME":"main"}}`},
			Command{Known: true, Shellper: true, Socket: "/r/s.sock", Farm: "/farm", Architect: "main"}},
		"its environment names a socket": {[]string{"node", marker, `{"socketPath":"/r/s.sock","env":{"SSH_AUTH_SOCK":"/r2/s.sock"}}`},
			Command{Known: true, Shellper: true, Socket: "/r/s.sock"}},
		"where it starts its program": {[]string{"node", marker, `{"cwd":"/w/.builders/x/","env":{"cwd":"/y"},"socketPath":"/r/s.sock"}`},
			Command{Known: true, Shellper: true, Socket: "/r/s.sock", Cwd: "/w/.builders/x"}},
		"a folder that counts from another": {[]string{"node", marker, `{"cwd":"x","socketPath":"/r/s.sock"}`},
			Command{Known: true, Shellper: true, Socket: "/r/s.sock"}},
		"two folders":             {[]string{"node", marker, `{"cwd":"/a"}`, `{"cwd":"/b"}`}, Command{Shellper: true}},
		"two sockets":             {[]string{"node", marker, `{"a":"/r/s.sock","b":"/r2/s.sock"}`}, Command{Shellper: true}},
		"a socket as an argument": {[]string{"node", marker, "/r/s.sock"}, Command{Known: true, Shellper: true, Socket: "/r/s.sock"}},
		"cut short":               {[]string{"node", marker, `{"socketPath":"/r/s.sock","env":{"A`}, Command{Shellper: true}},
		"no socket":               {[]string{"node", marker, `{}`}, Command{Known: true, Shellper: true}},
		"nothing more":            {[]string{"node", marker}, Command{Known: true, Shellper: true}},
		"another program":         {[]string{"grep", "shellper-main.jsx", "/r/s.sock"}, Command{Known: true}},
		"a folder of that name":   {[]string{"ls", "/shellper-main.js/x"}, Command{Known: true}},
		"an environment of text":  {[]string{"node", marker, `{"socketPath":"/r/s.sock","env":{"CODEV_AGENT_FARM_DIR":7}}`}, Command{Shellper: true}},
		"nothing can be read":     {nil, Command{}},
		"an empty one":            {[]string{""}, Command{Known: true}},
	} {
		text := strings.Join(tc.argv, "\x00")
		if tc.argv != nil {
			text += "\x00"
		}
		if got := ParseCommand([]byte(text)); got != tc.want {
			t.Errorf("%s: %+v, want %+v", name, got, tc.want)
		}
	}
}

func FuzzCommand(f *testing.F) {
	f.Add([]byte("node\x00shellper-main.js\x00{\"socketPath\":\"/r/s.sock\",\"env\":{\"CODEV_AGENT_FARM_DIR\":\"/x\"}}\x00"))
	f.Add([]byte("\x00\x00shellper-main.js"))
	f.Fuzz(func(t *testing.T, text []byte) {
		c := ParseCommand(text)
		if (c.Socket != "" || c.Cwd != "" || c.Farm != "" || c.Architect != "") && (!c.Shellper || !c.Known) {
			t.Errorf("gave %+v", c)
		}
	})
}

// A process that ends while it is looked at, or that waits for its parent as a zombie, has ended.
func TestEndedProcesses(t *testing.T) {
	t.Parallel()
	child := exec.Command("true")
	must.Do(t, child.Start())
	wait.Eventually(t, "its end", func() bool { _, err := Look("/proc", child.Process.Pid); return err == proc.ErrEnded })
	if err := child.Process.Signal(syscall.Signal(0)); err != nil {
		t.Errorf("it is no zombie: %v", err)
	}
	_ = child.Wait()
	if _, err := Look("/proc", child.Process.Pid); err != proc.ErrEnded {
		t.Errorf("gave %v", err)
	}
	me, err := Look("/proc", os.Getpid())
	if err != nil || !me.Known || me.Shellper || me.Since(time.Now().Add(time.Hour)) || me.Ticks == 0 {
		t.Errorf("this process: %+v, %v", me, err)
	}
	if d := me.began[1].Sub(me.began[0]); d > near || d < -near {
		t.Errorf("it began %s apart", d)
	}
}

func TestTTYIndex(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"pos:\t0\nflags:\t02\ntty-index:\t12\n": "12", "tty-index:\t0": "0"} {
		if got, err := ttyIndex([]byte(text)); err != nil || got != want {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "pos:\t0\n", "tty-index:\tx\n", "tty-index:\n", "tty-index:\t-1\n"} {
		if _, err := ttyIndex([]byte(text)); err == nil {
			t.Errorf("%q was read", text)
		}
	}
}
