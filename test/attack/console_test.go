package attack_test

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/winnow-reaper/winnow/test/kit/attack"
	"github.com/winnow-reaper/winnow/test/kit/machine"
	"github.com/winnow-reaper/winnow/test/kit/wait"
)

// consoleWorld is a console of a user, with an empty root.
type consoleWorld struct {
	dir string
	// url is the address with the token, host what a browser calls it, cookie the session of the user.
	url, host, cookie, csrf string
}

// newConsoleWorld starts one by as, in a home.
func newConsoleWorld(t *testing.T, dir string, as func(name string, args ...string) *exec.Cmd) *consoleWorld {
	t.Helper()
	w := &consoleWorld{dir: dir}
	cmd := as(attack.Winnow(t), "console", "--config", filepath.Join(dir, "config.yaml"))
	out, err := cmd.StdoutPipe()
	must(t, err)
	start(t, cmd)
	line, err := bufio.NewReader(out).ReadString('\n')
	must(t, err)
	w.url = strings.TrimSpace(line)
	u, err := url.Parse(w.url)
	must(t, err)
	w.host = u.Host
	return w
}

// consoleConfig is a configuration that looks at nothing but one folder.
func consoleConfig(dir string) string {
	return fmt.Sprintf("version: 1\nstate: %s/state\ncollect: {tmux: {sockets: []}, herdr: {sockets: []}, vscode: {sockets: []}, shepherd: {stores: []}, codev: {homes: []}, "+
		"dirs: {roots: [%s/wt], agent_folders: [], discover: false}}\n", dir, dir)
}

// ownConsole is a console of this user's, with a session of theirs.
func ownConsole(t *testing.T) *consoleWorld {
	t.Helper()
	dir, err := os.MkdirTemp(machine.Temp(), "winnow-console-")
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	must(t, os.Mkdir(filepath.Join(dir, "wt"), 0o700))
	must(t, os.WriteFile(filepath.Join(dir, "config.yaml"), []byte(consoleConfig(dir)), 0o600))
	w := newConsoleWorld(t, dir, func(name string, args ...string) *exec.Cmd {
		cmd := exec.Command(name, args...)
		cmd.Dir, cmd.Env = dir, []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH"), "LC_ALL=C.UTF-8"}
		return cmd
	})
	code, _, res := w.ask(t, "GET", w.url, "", nil)
	if code != http.StatusSeeOther || len(res.Cookies()) != 1 {
		t.Fatalf("the token opens nothing: %d", code)
	}
	w.cookie = res.Cookies()[0].Name + "=" + res.Cookies()[0].Value
	_, page, _ := w.ask(t, "GET", "http://"+w.host+"/", "", map[string]string{"Cookie": w.cookie})
	m := regexp.MustCompile(`name="csrf" value="([^"]+)"`).FindStringSubmatch(page)
	if m == nil {
		t.Fatalf("no form on the first page: %s", page)
	}
	w.csrf = m[1]
	return w
}

func (w *consoleWorld) ask(t *testing.T, method, address, body string, headers map[string]string) (int, string, *http.Response) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(body))
	must(t, err)
	if body != "" {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for name, value := range headers {
		if name == "Host" {
			req.Host = value
		}
		req.Header.Set(name, value)
	}
	client := http.Client{Timeout: wait.Patience, Transport: &http.Transport{DisableKeepAlives: true}, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := client.Do(req)
	must(t, err)
	defer res.Body.Close()
	text, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	must(t, err)
	return res.StatusCode, string(text), res
}

// swept reports whether a form had an effect: a sweep begins a ledger, and the console by itself writes none.
func (w *consoleWorld) swept() bool {
	_, err := os.Stat(filepath.Join(w.dir, "state", "ledger.db"))
	return err == nil
}

// TestAttackAConsoleByAnotherName: a page of elsewhere has its name lead to the console (DNS rebinding). The browser then sends the page's own name.
func TestAttackAConsoleByAnotherName(t *testing.T) {
	t.Parallel()
	a := attack.New(t, "a web page has its own name lead to the console, and reads it or sends a form to it")
	w := ownConsole(t)
	_, port, _ := strings.Cut(w.host, ":")
	for _, name := range []string{"evil.example", "evil.example:" + port, "localhost:" + port, "127.0.0.1", "127.0.0.1.evil.example:" + port, "127.0.0.1:" + port + ".evil.example", "127.1:" + port, "0.0.0.0:" + port, "[::1]:" + port} {
		for _, session := range []string{"", w.cookie} {
			code, text, _ := w.ask(t, "GET", "http://"+w.host+"/acts", "", map[string]string{"Host": name, "Cookie": session, "Sec-Fetch-Site": "same-origin"})
			post, _, _ := w.ask(t, "POST", "http://"+w.host+"/sweep", "csrf="+w.csrf, map[string]string{"Host": name, "Cookie": session, "Origin": "http://" + name, "Sec-Fetch-Site": "same-origin"})
			switch {
			case code == http.StatusOK || strings.Contains(text, w.csrf):
				a.Lost("%s reads the console", name)
			case post < 400 || w.swept():
				a.Lost("%s sends a form to the console: %d", name, post)
			default:
				a.Held()
			}
		}
	}
}

// TestAttackAConsoleFromAnotherOrigin: a page of elsewhere, or of another port of this machine, sends a form with the user's own session.
func TestAttackAConsoleFromAnotherOrigin(t *testing.T) {
	t.Parallel()
	a := attack.New(t, "a web page of another origin sends a form to the console, with the session that the browser adds")
	w := ownConsole(t)
	for _, from := range []map[string]string{
		{"Origin": "http://evil.example", "Sec-Fetch-Site": "cross-site"}, {"Origin": "null", "Sec-Fetch-Site": "cross-site"}, {"Origin": "http://127.0.0.1:1", "Sec-Fetch-Site": "same-site"},
		{"Origin": "http://evil.example"}, {"Origin": "null"}, {}, {"Sec-Fetch-Site": "cross-site"}, {"Referer": "http://" + w.host + "/"}, {"Origin": "https://" + w.host},
		{"Origin": "http://" + w.host + ".evil.example"}, {"Origin": "http://" + w.host, "Sec-Fetch-Site": "cross-site"},
	} {
		for _, word := range []string{w.csrf, "", "x"} { // with the word of a form too, which it cannot read
			headers := map[string]string{"Cookie": w.cookie}
			for name, value := range from {
				headers[name] = value
			}
			code, _, _ := w.ask(t, "POST", "http://"+w.host+"/sweep", "csrf="+word, headers)
			if code < 400 || w.swept() {
				a.Lost("from %v with the word %q: %d", from, word, code)
				continue
			}
			a.Held()
		}
	}
	// And one of its own origin, such as a page that is tricked, has to know the word.
	for _, word := range []string{"", "x", w.csrf[1:]} {
		code, _, _ := w.ask(t, "POST", "http://"+w.host+"/sweep", "csrf="+word, map[string]string{"Cookie": w.cookie, "Origin": "http://" + w.host, "Sec-Fetch-Site": "same-origin"})
		if code < 400 || w.swept() {
			a.Lost("without the word of its forms: %d", code)
			continue
		}
		a.Held()
	}
	if code, _, _ := w.ask(t, "POST", "http://"+w.host+"/sweep", "csrf="+w.csrf, map[string]string{"Cookie": w.cookie, "Origin": "http://" + w.host}); code != http.StatusSeeOther || !w.swept() {
		t.Errorf("the user's own form has no effect: %d", code)
	}
}

// TestAttackAConsoleWithoutItsToken: a program asks the console for everything without knowing the token.
func TestAttackAConsoleWithoutItsToken(t *testing.T) {
	t.Parallel()
	a := attack.New(t, "a program that does not know the token asks the console for pages, streams and acts")
	w := ownConsole(t)
	name, value, _ := strings.Cut(w.cookie, "=")
	id, mac, _ := strings.Cut(value, ".")
	for _, session := range []string{"", name + "=", name + "=.", name + "=x.y", name + "=" + id, name + "=" + id + ".", name + "=." + mac, name + "=" + id + "x." + mac, name + "=" + id + "." + mac[1:], "other=" + value} {
		for _, path := range []string{"/", "/acts", "/trash/purge?all=1", "/candidate?id=x", "/events", "/static/console.js", "/?token=", "/?token=x"} {
			code, text, res := w.ask(t, "GET", "http://"+w.host+path, "", map[string]string{"Cookie": session})
			if code != http.StatusForbidden || strings.Contains(text, w.dir) || len(res.Cookies()) > 0 {
				a.Lost("%s with the cookie %q: %d", path, session, code)
				continue
			}
			a.Held()
		}
		code, _, _ := w.ask(t, "POST", "http://"+w.host+"/sweep", "csrf="+w.csrf, map[string]string{"Cookie": session, "Origin": "http://" + w.host})
		if code < 400 || w.swept() {
			a.Lost("a form with the cookie %q: %d", session, code)
			continue
		}
		a.Held()
	}
}

// TestAttackAConsoleOfAnotherUser: another user of the machine has got hold of the token, such as from the screen, and asks with it.
func TestAttackAConsoleOfAnotherUser(t *testing.T) {
	t.Parallel()
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("needs bash, which the other user connects with")
	}
	victim, attacker := attack.Users(t)
	a := attack.New(t, "another user of the machine who knows the token asks the console with it")
	victim.Mkdir(t, filepath.Join(victim.Home, "wt"), 0o700)
	victim.Write(t, filepath.Join(victim.Home, "config.yaml"), consoleConfig(victim.Home), 0o600)
	w := newConsoleWorld(t, victim.Home, victim.Command)
	host, port, _ := strings.Cut(w.host, ":")
	get := func(u attack.User) string {
		request := fmt.Sprintf("GET %s HTTP/1.1\\r\\nHost: %s\\r\\nConnection: close\\r\\n\\r\\n", strings.TrimPrefix(w.url, "http://"+w.host), w.host)
		out, _ := u.Command(bash, "-c", fmt.Sprintf(`exec 3<>/dev/tcp/%s/%s && printf '%s' >&3 && timeout 10 cat <&3`, host, port, request)).Output()
		return string(out)
	}
	for range 20 {
		if said := get(attacker); said != "" {
			a.Lost("the attacker got %.200q", said)
			continue
		}
		a.Held()
	}
	if said := get(victim); !strings.Contains(said, "Set-Cookie: winnow-console-") {
		t.Errorf("the victim cannot enter: %.200q", said)
	}
}
