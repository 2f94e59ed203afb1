package ledger_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/internal/ledger"
	"github.com/winnow-reaper/winnow/internal/ledger/lock"
	"github.com/winnow-reaper/winnow/test/kit/attack"
	"github.com/winnow-reaper/winnow/test/kit/must"
)

// The test binary runs itself to be killed: with crashEnv it intends and settles acts in the ledger there until it is, with
// rememberEnv it writes the memory of alarms there, with lockEnv it takes that lock and waits.
const (
	crashEnv    = "WINNOW_TEST_CRASH_LEDGER"
	rememberEnv = "WINNOW_TEST_CRASH_REMEMBERING"
	lockEnv     = "WINNOW_TEST_LOCK"
)

func TestMain(m *testing.M) {
	switch crash, remember, path := os.Getenv(crashEnv), os.Getenv(rememberEnv), os.Getenv(lockEnv); {
	case crash != "":
		fmt.Println("failed", actForever(crash))
		os.Exit(1)
	case remember != "":
		fmt.Println("failed", rememberForever(remember))
		os.Exit(1)
	case path != "":
		_, err := lock.Take(path)
		fmt.Println("locked", err)
		time.Sleep(time.Hour)
	default:
		os.Exit(m.Run())
	}
}

// actForever says of each act when it is durably intended and when it is durably settled. Every third is left unsettled.
func actForever(path string) error {
	l, err := ledger.Open(path)
	if err != nil {
		return err
	}
	ctx := context.Background()
	for i := 0; ; i++ {
		id := fmt.Sprintf("%d-%06d", os.Getpid(), i)
		if err := l.Intend(ctx, intent(id, t0)); err != nil {
			return err
		}
		fmt.Println("intended", id)
		if i%3 == 2 {
			continue
		}
		if err := l.Settled(ctx, id, decision.Outcome{Outcome: decision.Done}); err != nil {
			return err
		}
		fmt.Println("settled", id)
	}
}

// again starts this test binary again with one more variable.
func again(t *testing.T, env string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	self := must.Get(os.Executable())(t)
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), env)
	out := must.Get(cmd.StdoutPipe())(t)
	must.Do(t, cmd.Start())
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	return cmd, bufio.NewScanner(out)
}

func TestKilledAtAnyPointNothingAcknowledgedIsLost(t *testing.T) {
	attack.WithoutRaces(t)
	t.Parallel()
	path := filepath.Join(t.TempDir(), "ledger.db")
	said := map[string]string{} // act id -> the last that was reported of it
	for range 25 {
		cmd, lines := again(t, crashEnv+"="+path)
		left := 1 + rand.IntN(40)
		for lines.Scan() {
			word, id, _ := strings.Cut(lines.Text(), " ")
			if word == "failed" {
				t.Fatal(lines.Text())
			}
			said[id] = word
			if left--; left == 0 {
				go func() {
					time.Sleep(time.Duration(rand.IntN(3000)) * time.Microsecond)
					cmd.Process.Kill()
				}()
			}
			if left < -2000 {
				t.Fatal("the process could not be killed")
			}
		}
		if cmd.Wait(); cmd.ProcessState.Success() {
			t.Fatal("the process ended by itself")
		}
		check(t, path, said)
	}
	if len(said) < 100 {
		t.Errorf("only %d acts were tried", len(said))
	}
}

// check compares what is in the ledger with what was acknowledged. One act at the very end may be further than what was reported.
func check(t *testing.T, path string, said map[string]string) {
	t.Helper()
	l := must.Get(ledger.Open(path))(t)
	defer l.Close()
	must.Do(t, l.Check(t.Context()))
	acts := must.Get(l.Acts(t.Context(), time.Time{}))(t)
	unsettled := must.Get(l.Unsettled(t.Context()))(t)
	open := map[string]bool{}
	for _, in := range unsettled {
		open[in.ID] = true
		if said[in.ID] == "settled" {
			t.Fatalf("%s was settled and is not any more", in.ID)
		}
	}
	there := map[string]bool{}
	for _, a := range acts {
		there[a.Intent.ID] = true
		if (a.Outcome == nil) != open[a.Intent.ID] {
			t.Fatalf("%s is listed as unsettled: %v, and its outcome is %v", a.Intent.ID, open[a.Intent.ID], a.Outcome)
		}
	}
	for id, word := range said {
		if !there[id] {
			t.Fatalf("%s was %s and is lost", id, word)
		}
	}
}

func TestLockOfAKilledProcessIsFree(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	cmd, lines := again(t, lockEnv+"="+path)
	if !lines.Scan() || lines.Text() != "locked <nil>" {
		t.Fatalf("the other process said %q", lines.Text())
	}
	_, err := lock.Take(path)
	var held *lock.Held
	if !errors.As(err, &held) || held.PID != cmd.Process.Pid {
		t.Errorf("got %v; want held by %d", err, cmd.Process.Pid)
	}
	must.Do(t, cmd.Process.Kill())
	cmd.Wait()
	unlock := must.Get(lock.Take(path))(t)
	must.Do(t, unlock())
}
