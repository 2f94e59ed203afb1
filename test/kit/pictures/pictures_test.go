package pictures_test

import (
	"bufio"
	"bytes"
	"flag"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/winnow-reaper/winnow/test/kit/attack"
	"github.com/winnow-reaper/winnow/test/kit/machine"
	"github.com/winnow-reaper/winnow/test/kit/must"
	"github.com/winnow-reaper/winnow/test/kit/pictures"
	"github.com/winnow-reaper/winnow/test/kit/stage"
	"github.com/winnow-reaper/winnow/test/kit/wait"
)

func TestMain(m *testing.M) { machine.Main(m) }

var update = flag.Bool("update", false, "write the pictures")

const (
	// writes is set where the pictures are written: the run in the namespace has no flags of ours.
	writes  = "WRITE_PICTURES"
	folder  = "docs/pictures"
	largest = 60_000
	home    = "/home/ann"
)

// studio has the machine that is pictured, the program, and the repository in which the pictures lie.
type studio struct {
	t       *testing.T
	m       *machine.Machine
	root    *os.Root
	program string
	drawn   map[string]bool
}

// TestPicturesAreCurrent makes each picture of the docs from a real run on a small machine, and holds the one in docs/pictures to what it says. Numbers
// may differ: times, process numbers, memory. make pictures writes them.
func TestPicturesAreCurrent(t *testing.T) {
	stage.NeedSecond(t, "it builds the program, and runs it in a namespace of its own")
	if attack.Raced {
		t.Skip("it runs the program, which has no race detector: .ci/run runs this without")
	}
	if *update {
		t.Setenv(writes, "1")
	}
	if !machine.Enter(t) {
		return
	}
	s := &studio{t: t, m: machine.New(t), drawn: map[string]bool{}}
	s.root = must.Get(os.OpenRoot(filepath.Join(machine.Source(), "../../..")))(t)
	defer s.root.Close()
	s.program = filepath.Join(filepath.Dir(s.m.Home), "winnow")
	s.m.Moved("github.com/winnow-reaper/winnow/cmd/winnow", s.program)
	s.comment()
	s.m.MoveIn(home)
	s.m.Week()

	s.run(49*time.Hour, "sweep") // the first of two looks
	s.terminal("sweep", "winnow sweep", 100, 60, `^\$$`)
	s.terminal("review", "winnow review", 110, 26, "next: winnow")
	s.terminal("top", "winnow top", 110, 18, `vite \(\d+\) +\d+%`)
	s.run(50*time.Hour, "sweep", "--apply", "--repo", "shop") // so that there is something to tell
	s.console()
	s.nothingElse()
}

func (s *studio) env(moved time.Duration) []string {
	return append(s.m.Env(), machine.MovedBy(moved), "USER=ann", "COLORTERM=truecolor")
}

func (s *studio) run(moved time.Duration, args ...string) {
	s.t.Helper()
	cmd := exec.Command(s.program, args...)
	cmd.Env, cmd.Dir = s.env(moved), s.m.Home
	if out, err := cmd.CombinedOutput(); err != nil {
		s.t.Fatalf("winnow %q: %v\n%s", args, err, out)
	}
}

// terminal runs a command in a real tmux and draws what it shows once it shows a pattern and stands still.
func (s *studio) terminal(name, command string, columns, rows int, until string) {
	s.t.Helper()
	socket := filepath.Join(filepath.Dir(s.program), name+".sock")
	tmux := func(args ...string) string {
		cmd := exec.Command("tmux", append([]string{"-u", "-S", socket, "-f", "/dev/null"}, args...)...)
		cmd.Env, cmd.Dir = append(s.env(50*time.Hour), "TERM=xterm-256color"), s.m.Home
		out, err := cmd.CombinedOutput()
		if err != nil {
			s.t.Fatalf("tmux %q: %v\n%s", args, err, out)
		}
		return string(out)
	}
	program, args, _ := strings.Cut(command, " ")
	if program != "winnow" {
		s.t.Fatalf("%s is no command of winnow", command)
	}
	line := "unset TMUX TMUX_PANE; printf '$ %s\\n' '" + command + "'; " + s.program + " " + args + "; printf '$ '; exec sleep 3600"
	tmux("start-server", ";", "set-option", "-g", "default-terminal", "tmux-256color", ";", "new-session", "-d", "-x", strconv.Itoa(columns), "-y", strconv.Itoa(rows), "sh", "-c", line)
	defer tmux("kill-server")
	want, last := regexp.MustCompile(`(?m)`+until), ""
	if !wait.Until(wait.Patience, func() bool {
		shown := tmux("capture-pane", "-p")
		still := want.MatchString(strings.TrimRight(shown, "\n")) && shown == last
		last = shown
		return still
	}) {
		s.t.Fatalf("%s never shows %s and stands still:\n%s", command, until, last)
	}
	captured := prompt.ReplaceAllString(tmux("capture-pane", "-e", "-p"), "")
	if name == "sweep" { // what the README shows follows the page, and not the reader's system
		s.hold(name+"-light", pictures.Terminal(command, captured, columns, pictures.Light))
		s.hold(name+"-dark", pictures.Terminal(command, captured, columns, pictures.Dark))
		return
	}
	s.hold(name, pictures.Terminal(command, captured, columns, pictures.Both))
}

// console draws the first page of the console.
func (s *studio) console() {
	s.t.Helper()
	cmd := exec.Command(s.program, "console")
	cmd.Env, cmd.Dir = s.env(50*time.Hour), s.m.Home
	var said strings.Builder
	cmd.Stderr = &said
	out := must.Get(cmd.StdoutPipe())(s.t)
	must.Do(s.t, cmd.Start())
	defer func() {
		_ = cmd.Process.Signal(os.Interrupt)
		if err := cmd.Wait(); err != nil {
			s.t.Errorf("winnow console: %v: %s", err, said.String())
		}
	}()
	address := must.Get(url.Parse(strings.TrimSpace(must.Get(bufio.NewReader(out).ReadString('\n'))(s.t))))(s.t)
	client := http.Client{Jar: must.Get(cookiejar.New(nil))(s.t)}
	get := func(path string) string {
		at := *address
		if path != "" {
			at.Path, at.RawQuery = path, ""
		}
		answer := must.Get(client.Get(at.String()))(s.t)
		defer answer.Body.Close()
		return string(must.Get(io.ReadAll(answer.Body))(s.t))
	}
	page := get("")
	wait.Eventually(s.t, "the console's first look", func() bool {
		page = get("/")
		return !strings.Contains(page, "first look is under way")
	})
	s.page("console", "winnow console", page, get("/static/console.css"), 1180, 800)
}

// comment draws what the action writes into a pull request that lets a rule of the team's reap sooner.
func (s *studio) comment() {
	s.t.Helper()
	dir := s.t.TempDir()
	repo, out := filepath.Join(dir, "policies"), filepath.Join(dir, "policies", "winnow")
	sub := must.Get(s.root.OpenRoot("examples/team-policies"))(s.t)
	defer sub.Close()
	must.Do(s.t, os.CopyFS(repo, sub.FS()))
	env := append(os.Environ(), "HOME="+dir, "GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=ann", "GIT_AUTHOR_EMAIL=ann@example.org", "GIT_COMMITTER_NAME=ann",
		"GIT_COMMITTER_EMAIL=ann@example.org", "INPUT_CONFIG=config.yaml", "INPUT_PROGRAM="+s.program, "INPUT_BASE=main", "INPUT_OUT=winnow", "INPUT_REGAL=false")
	config := must.Get(s.root.ReadFile("examples/team-policies/config.yaml"))(s.t)
	shell := func(script string) {
		cmd := exec.Command("bash", "-c", script)
		cmd.Env, cmd.Dir = env, repo
		if text, err := cmd.CombinedOutput(); err != nil && !strings.Contains(script, "run.sh") {
			s.t.Fatalf("%s: %v\n%s", script, err, text)
		}
	}
	shell("git init -q -b main && git add -A && git commit -qm policies && git checkout -qb sooner")
	must.Do(s.t, os.WriteFile(filepath.Join(repo, "config.yaml"), bytes.Replace(config, []byte("scratch_after: 2d"), []byte("scratch_after: 12h"), 1), 0o644))
	shell("git commit -qam sooner")
	shell("bash " + filepath.Join(machine.Source(), "../../../packaging/ci/action/run.sh"))
	text := string(must.Get(os.ReadFile(filepath.Join(out, "comment.md")))(s.t))
	s.page("comment", "the comment in a pull request", pictures.Markdown(text), commentStyle, 860, 620)
}

// commentStyle is how GitHub shows a comment, in short.
const commentStyle = `:root{color-scheme:light dark;--ground:#fff;--ink:#1f2328;--soft:#59636e;--line:#d1d9e0;--code:#eff1f3}
@media(prefers-color-scheme:dark){:root{--ground:#0d1117;--ink:#f0f6fc;--soft:#9198a1;--line:#3d444d;--code:#2a313c}}
html{font:14px/1.5 system-ui,sans-serif;background:var(--ground);color:var(--ink)}
body{margin:1px;padding:4px 18px;border:1px solid var(--line);border-radius:6px;height:100%;box-sizing:border-box}
h2,h3{font-size:17px;margin:14px 0 8px}
p,ul{margin:8px 0}
table{border-collapse:collapse;margin:8px 0}
th,td{border:1px solid var(--line);padding:4px 12px;text-align:left}
code,pre{font:12px ui-monospace,Menlo,Consolas,monospace;background:var(--code);border-radius:4px;padding:2px 5px}
pre{padding:10px;white-space:pre-wrap}
blockquote{margin:8px 0;padding:2px 14px;border-left:4px solid #d1242f}
sub{display:block;font-size:12px;color:var(--soft);margin:8px 0}
li.in2,li.in4{margin-left:20px}
details{margin:8px 0}
summary{color:var(--soft)}
`

func (s *studio) page(name, title, html, css string, width, height int) {
	s.t.Helper()
	s.hold(name, must.Get(pictures.Page(title, html, css, width, height))(s.t))
}

// hold writes a picture, or holds the one that is there to it.
func (s *studio) hold(name string, picture []byte) {
	s.t.Helper()
	path := folder + "/" + name + ".svg"
	s.drawn[name+".svg"] = true
	if len(picture) > largest {
		s.t.Errorf("%s has %d bytes; at most %d are wanted", path, len(picture), largest)
	}
	if os.Getenv(writes) != "" {
		must.Do(s.t, s.root.WriteFile(path, picture, 0o644))
		return
	}
	have, err := s.root.ReadFile(path)
	if d := cmp.Diff(words(have), words(picture)); err != nil || d != "" {
		s.t.Errorf("%s is not what the program shows now: make pictures (%v; -have +shown):\n%s", path, err, d)
	}
}

var (
	prompt  = regexp.MustCompile(`\n(\x1b\[[0-9;]*m)*\$ *\n+$`)
	styles  = regexp.MustCompile(`(?s)<style>.*?</style>`)
	tags    = regexp.MustCompile(`<[^>]*>`)
	numbers = regexp.MustCompile(`\b[0-9a-f]{7,40}\b|\d+(\.\d+)?`)
)

// words are the words of a picture, without numbers, names of commits and words that were cut: these hang on the run. They are sorted: what has the most memory comes first.
func words(picture []byte) []string {
	text := tags.ReplaceAllString(styles.ReplaceAllString(string(picture), ""), " ")
	all := slices.DeleteFunc(strings.Fields(numbers.ReplaceAllString(text, "0")), func(w string) bool { return strings.HasSuffix(w, "…") })
	slices.Sort(all)
	return all
}

// nothingElse has the folder hold no picture that nothing draws.
func (s *studio) nothingElse() {
	s.t.Helper()
	at := must.Get(s.root.Open(folder))(s.t)
	defer at.Close()
	for _, name := range must.Get(at.Readdirnames(-1))(s.t) {
		if !s.drawn[name] {
			s.t.Errorf("%s/%s: nothing draws it", folder, name)
		}
	}
}
