package attack_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/winnow-reaper/winnow/test/kit/attack"
	"github.com/winnow-reaper/winnow/test/kit/wait"
)

// asksTheAPI is a client in shell: it connects to the socket $1 and asks it all that changes something.
const asksTheAPI = `
for ask in "-d {\"reason\":\"his\"} http://winnow/v1/pause" "-d {\"wait\":false} http://winnow/v1/sweep" "http://winnow/v1/state" "http://winnow/v1/report" \
	"-d {\"candidate\":\"/tmp\",\"reason\":\"his\"} http://winnow/v1/leases" "-X DELETE http://winnow/v1/brakes" "http://winnow/v1/events"; do
	curl -sS --max-time 20 --unix-socket "$1" $ask
	echo " exit $?"
done`

func TestAttackAnotherUserAsksTheDaemon(t *testing.T) {
	t.Parallel()
	victim, attacker := attack.Users(t)
	program := attack.Winnow(t)
	a := attack.New(t, "another user asks the daemon's API, at a socket and in folders that were opened to all")
	config, state := filepath.Join(victim.Home, "config.yaml"), filepath.Join(victim.Home, "state")
	victim.Write(t, config, nothingToSee, 0o600)
	said, err := os.Create(filepath.Join(victim.Home, "said"))
	must(t, err)
	defer said.Close()
	daemon := victim.Command(program, "run", "--config", config, "--state", state, "--every", "1h")
	daemon.Stdout, daemon.Stderr = said, said
	must(t, daemon.Start())
	t.Cleanup(func() {
		_ = daemon.Process.Kill()
		_ = daemon.Wait()
	})
	status := func() string {
		out, _ := victim.Command(program, "status", "--config", config, "--state", state).CombinedOutput()
		return string(out)
	}
	if !wait.Until(3*wait.Patience, func() bool { return strings.Contains(status(), "observing since") }) {
		text, _ := os.ReadFile(said.Name())
		t.Fatalf("the daemon does not answer its user: %s\n%s", status(), text)
	}
	socket := filepath.Join(state, "api.sock")
	ask := func(u attack.User) string {
		out, err := u.Command("sh", "-c", asksTheAPI, "sh", socket).CombinedOutput()
		must(t, err)
		return string(out)
	}
	if out, err := victim.Command("curl", "--version").CombinedOutput(); err != nil {
		t.Skipf("there is no curl: %v %s", err, out)
	}
	check := func(how, out string) {
		after := status()
		switch {
		case strings.Contains(out, "{") || strings.Contains(out, "exit 0"):
			a.Lost("%s: he was answered: %s", how, out)
		case !strings.Contains(after, "observing since") || strings.Contains(after, "paused"):
			text, _ := os.ReadFile(said.Name())
			a.Lost("%s: then %s\n%s", how, after, text)
		default:
			a.Held()
		}
	}
	check("by the file's mode", ask(attacker))
	for _, path := range []string{victim.Home, state} {
		must(t, os.Chmod(path, 0o755))
	}
	must(t, os.Chmod(socket, 0o777))
	out := ask(attacker)
	if text, _ := os.ReadFile(said.Name()); !bytes.Contains(text, []byte("a connection was refused")) {
		t.Fatalf("he does not get there, so that this attacks nothing: %s\n%s", out, text)
	}
	check("by who connects", out)
	for _, path := range []string{victim.Home, state} {
		must(t, os.Chmod(path, 0o700))
	}
	if holds, err := victim.Command(program, "holds", "--config", config, "--state", state).CombinedOutput(); err != nil || !bytes.Contains(holds, []byte("nothing is held")) {
		a.Lost("%v: %s", err, holds)
	}
}
