package herdr

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/winnow-reaper/winnow/collectors"
	"github.com/winnow-reaper/winnow/test/kit/attack"
	"github.com/winnow-reaper/winnow/test/kit/stage"
	"github.com/winnow-reaper/winnow/test/kit/wait"
)

// hostile listens on a socket and answers every connection with begin and then again and again with more, until it is hung up on.
func hostile(t *testing.T, begin, more string, pause time.Duration) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "h")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	path := filepath.Join(dir, "herdr.sock")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = c.Close() }()
				_, err := c.Write([]byte(begin))
				for err == nil {
					_, err = c.Write([]byte(more))
					time.Sleep(pause)
				}
			}()
		}
	}()
	return path
}

func TestAttackAHerdrServerThatNeverEnds(t *testing.T) {
	stage.NeedSecond(t, "it waits for servers and files that never answer")
	t.Parallel()
	a := attack.New(t, "a herdr server answers with a line without end, a byte at a time, with what is nested without end, or with a million tabs")
	for name, c := range map[string]struct {
		begin, more string
		pause       time.Duration
	}{
		"a line without end":   {"", strings.Repeat("x", 1<<20), 0},
		"a byte at a time":     {"{", " ", 20 * time.Millisecond},
		"nested without end":   {`{"id":"winnow","result":`, strings.Repeat("[", 1<<16), 0},
		"nested and cut":       {strings.Repeat(`{"result":`, 100_000) + "\n", "\n", 0},
		"a million tabs":       {`{"id":"winnow","result":{"type":"pong","tabs":[` + strings.Repeat("null,", 1_000_000) + "null]}}\n", "\n", 0},
		"no answer":            {"", "", time.Second},
		"nothing but newlines": {"\n", "\n", 0},
	} {
		begin := time.Now()
		err := fails(t, Options{UID: os.Getuid()}, hostile(t, c.begin, c.more, c.pause), wait.Within(t, 5*time.Second))
		switch took := time.Since(begin); {
		case errors.Is(err, collectors.ErrAbsent):
			a.Lost("%s: it counts as absent: %v", name, err)
		case took > wait.Patience:
			a.Lost("%s took %s", name, took)
		default:
			a.Held()
		}
	}
}

func TestAttackAHerdrSocketOfAnotherUser(t *testing.T) {
	t.Parallel()
	_, attacker := attack.Users(t)
	shared := filepath.Join(filepath.Dir(attacker.Home), "his")
	attacker.Mkdir(t, shared, 0o755)
	heard := attacker.Listen(t, "unix", filepath.Join(shared, "herdr.sock"))
	a := attack.New(t, "another user's herdr socket is read")
	for range 50 {
		if err := fails(t, Options{UID: os.Getuid()}, heard.Address, wait.Within(t, wait.Patience)); !errors.Is(err, collectors.ErrPermission) {
			a.Lost("%v", err)
			continue
		}
		a.Check(heard.Text())
	}
	if heard.Connections() > 0 {
		t.Error("it was connected to")
	}
}
