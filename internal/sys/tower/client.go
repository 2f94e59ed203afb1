// Package tower is the one client of Codev's Tower, and the one reader of its state folder and of its shellpers (contract of Codev 3.3.1).
//
// It changes nothing. Most GETs of a Tower delete rows that it finds stale, so only those that change nothing are asked. The one call that
// closes a terminal is in package act.
package tower

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/internal/sys/peercred"
)

const (
	// DefaultAddress is where a Tower listens unless it is configured otherwise.
	DefaultAddress = "http://127.0.0.1:4100"

	keyHeader = "codev-tower-key"
	// maxAnswer is the longest answer that is read, in bytes. A Tower has 100 terminals at most, of some 300 bytes each.
	maxAnswer = 4 << 20
)

// The failures of a Tower, each with what to do about it. ErrNotSent says that the request did not reach it, ErrLost that no whole answer
// came, so that what the Tower did is not known.
var (
	ErrNotSent = errors.New("it cannot be reached")
	ErrLost    = errors.New("no answer of it came through")
	ErrDown    = fmt.Errorf("%w: no Tower runs there; start it (afx tower start)", ErrNotSent)
	ErrKey     = errors.New("it refuses the key (401); set CODEV_TOWER_KEY to its key, or name its Tower in collect.codev.tower")
	// errUnavailable is a 503 that does not say that the Tower is starting.
	errUnavailable = errors.New("it answers 503; look again in a moment")
	errShape       = fmt.Errorf("%w: winnow does not know this answer; see what listens there: this version reads Codev 3.3", ErrLost)
)

// Starting says that a Tower is not ready yet, and when it wants to be asked again; 0 where it did not say.
type Starting struct{ After time.Duration }

func (Starting) Error() string { return "it is starting up; look again in a moment" }

// Status is an answer that a Tower is not known to give.
type Status int

func (s Status) Error() string {
	return fmt.Sprintf("it answers %d; see what listens there: this version reads Codev 3.3", int(s))
}

// Undone reports whether err says that the Tower positively did nothing.
func Undone(err error) bool {
	_, starting := errors.AsType[Starting](err)
	return starting || errors.Is(err, ErrNotSent) || errors.Is(err, ErrKey)
}

// Base gives the base URL of a Tower's address. The key is sent there, so every address but one of this machine's loopback is refused.
func Base(address string) (string, error) {
	u, err := url.Parse(address)
	if err == nil && u.Scheme == "http" && u.User == nil && u.RawQuery == "" && u.Fragment == "" && (u.Path == "" || u.Path == "/") {
		if ip := net.ParseIP(u.Hostname()); u.Hostname() == "localhost" || ip != nil && ip.IsLoopback() {
			return "http://" + u.Host, nil
		}
	}
	return "", errors.New("its key must not leave this machine; write a URL of the loopback such as " + DefaultAddress)
}

// Client asks one Tower. It goes to a server of this user on this machine only: through no proxy, after no redirect.
type Client struct {
	// Base is the Tower's base URL.
	Base    string
	key     string
	timeout time.Duration
	http    *http.Client
}

// New gives a client of the Tower at base, which Base gave. Timeout is how long one answer may take.
func New(base, key string, timeout time.Duration) *Client {
	transport := peercred.Transport()
	transport.DisableKeepAlives = true // a connection that was kept could be another Tower's by then
	return &Client{Base: base, key: key, timeout: timeout, http: &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// Answer is an answer that came whole.
type Answer struct {
	Status int
	body   []byte
	after  string
}

// Word is the word by which the Tower names an error.
func (a Answer) Word() string {
	var v struct {
		Error string `json:"error"`
	}
	if json.Unmarshal(a.body, &v) != nil {
		return ""
	}
	return v.Error
}

// Refusal is what an answer means that is not the one that was asked for. Its text is not repeated: it may hold anything.
func (a Answer) Refusal() error {
	switch {
	case a.Status == http.StatusUnauthorized:
		return ErrKey
	case a.Status == http.StatusServiceUnavailable && a.Word() == "STARTING_UP":
		seconds, err := strconv.Atoi(a.after)
		if err != nil || seconds < 0 || seconds > int(time.Hour/time.Second) {
			seconds = 0
		}
		return Starting{time.Duration(seconds) * time.Second}
	case a.Status == http.StatusServiceUnavailable:
		return errUnavailable
	}
	return Status(a.Status)
}

// Version asks who answers. The key is not sent, for it is not known yet whether that is a Tower.
func (c *Client) Version(ctx context.Context) (string, error) {
	return get(ctx, c, "/api/version", "", parseVersion)
}

// Terminals asks which terminals the Tower has.
func (c *Client) Terminals(ctx context.Context) ([]Entry, error) {
	return get(ctx, c, "/api/terminals", c.key, parseTerminals)
}

// Husks asks for the pids of shellpers that the Tower itself would sweep. A Tower without a manager of shellpers has none to tell of.
func (c *Client) Husks(ctx context.Context) ([]int, error) {
	pids, err := get(ctx, c, "/api/shellpers/husks", c.key, parseHusks)
	if errors.Is(err, errUnavailable) {
		return nil, nil
	}
	return pids, err
}

// get asks, and parses the body of a 200. The error says which Tower was asked for what.
func get[T any](ctx context.Context, c *Client, path, key string, parse func([]byte) (T, error)) (out T, err error) {
	a, err := c.ask(ctx, http.MethodGet, path, key, c.timeout)
	switch {
	case err == nil && a.Status == http.StatusOK:
		out, err = parse(a.body)
	case err == nil:
		err = a.Refusal()
	}
	if err != nil {
		return out, fmt.Errorf("ask the Tower at %s for %s: %w", c.Base, path, err)
	}
	return out, nil
}

// Ask sends one request with the key and reads its answer, within twice the time that a question has. It is for package act.
func (c *Client) Ask(ctx context.Context, method, path string) (Answer, error) {
	return c.ask(ctx, method, path, c.key, 2*c.timeout)
}

func (c *Client) ask(ctx context.Context, method, path, key string, within time.Duration) (Answer, error) {
	bounded, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	req, err := http.NewRequestWithContext(bounded, method, c.Base+path, nil)
	if err != nil {
		return Answer{}, ErrNotSent
	}
	if key != "" {
		req.Header.Set(keyHeader, key)
	}
	resp, err := c.http.Do(req)
	var body []byte
	if err == nil {
		body, err = io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
		_ = resp.Body.Close()
	}
	switch {
	case err == nil && len(body) > maxAnswer:
		return Answer{}, fmt.Errorf("%w: the answer is longer than the %d MiB that winnow reads; see what listens there", ErrLost, maxAnswer>>20)
	case err == nil:
		return Answer{resp.StatusCode, body, resp.Header.Get("Retry-After")}, nil
	}
	return Answer{}, failure(ctx, bounded, err, within)
}

// failure says why no answer came, without the words of what came instead.
func failure(ctx, bounded context.Context, err error, within time.Duration) error {
	var op *net.OpError
	var number syscall.Errno
	kind := ErrLost
	if errors.As(err, &op) && op.Op == "dial" {
		kind = ErrNotSent
	}
	switch {
	case errors.Is(err, unix.ECONNREFUSED):
		return ErrDown
	case peercred.Refused(err):
		var named *url.Error // it names the URL once more
		if errors.As(err, &named) {
			err = named.Err
		}
		return fmt.Errorf("%w: %w", ErrNotSent, err)
	case ctx.Err() != nil:
		return fmt.Errorf("%w in time: %w; see whether the Tower hangs, or raise collect.timeout", kind, context.Cause(ctx))
	case bounded.Err() != nil && kind == ErrNotSent:
		return fmt.Errorf("%w within %s: %w", kind, within, bounded.Err())
	case bounded.Err() != nil:
		return fmt.Errorf("%w: it did not answer in time; see whether it hangs, or is still starting (%w after %s)", ErrLost, bounded.Err(), within)
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, unix.ECONNRESET):
		return fmt.Errorf("%w: it hung up before the answer was whole; it may be restarting: look again", ErrLost)
	case errors.As(err, &number):
		return fmt.Errorf("%w: %w; see what listens there", kind, number)
	case kind == ErrNotSent:
		return fmt.Errorf("%w: %w", kind, op.Err)
	}
	return errShape
}

// The words of Entry.Status.
const (
	Running = "running"
	Exited  = "exited"
)

// Entry is a terminal as a Tower lists it.
type Entry struct {
	ID     string `json:"id"`
	Label  string `json:"label"`
	Status string `json:"status"`
	// PID is the shellper's, -1 before it is attached.
	PID *int `json:"pid"`
	// CreatedAt is RFC 3339 text, LastDataAt milliseconds since 1970 with or without a fraction.
	CreatedAt  string   `json:"createdAt"`
	LastDataAt *float64 `json:"lastDataAt"`
	ExitCode   *int     `json:"exitCode"`
}

// Process is the pid of its shellper, 0 where the Tower says none.
func (e *Entry) Process() int {
	if e == nil || e.PID == nil || *e.PID <= 0 || *e.PID >= 1<<31 {
		return 0
	}
	return *e.PID
}

// State is what the Tower says of one terminal, as far as an act on it rests on that, in one text: of the entry with that id and of those
// that have that process, id, label, status and pid. A terminal that goes by its process alone may be one that has no pid yet.
// It leaves out what changes while nothing happens to the terminal, such as the time of its latest output.
func State(all []Entry, id string, pid int) string {
	type said struct {
		ID, Label, Status string
		PID               int
	}
	out := []said{}
	for i := range all {
		e := &all[i]
		if e.ID == id || pid > 0 && e.Process() == pid || e.Process() == 0 && !ID.MatchString(id) {
			out = append(out, said{e.ID, e.Label, e.Status, e.Process()})
		}
	}
	text, _ := json.Marshal(out) // strings and numbers always are
	return string(text)
}

// ID is what Codev's ids of terminals look like. They go into a candidate's id and into requests.
var ID = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)

// parseVersion reads the answer to /api/version.
func parseVersion(body []byte) (string, error) {
	var v struct {
		Version string `json:"version"`
	}
	if json.Unmarshal(body, &v) != nil || v.Version == "" {
		return "", errShape
	}
	return v.Version, nil
}

// parseTerminals reads the answer to /api/terminals. A missing list is not an empty one, and an entry that cannot be understood, or is
// there twice, makes the others doubtful: it may be any of them that is not listed.
func parseTerminals(body []byte) ([]Entry, error) {
	var v struct {
		Terminals *[]Entry `json:"terminals"`
	}
	if json.Unmarshal(body, &v) != nil || v.Terminals == nil {
		return nil, errShape
	}
	seen := map[string]bool{}
	for _, e := range *v.Terminals {
		if !ID.MatchString(e.ID) || seen[e.ID] {
			return nil, errShape
		}
		seen[e.ID] = true
	}
	return *v.Terminals, nil
}

// parseHusks reads the pids in the answer to /api/shellpers/husks.
func parseHusks(body []byte) ([]int, error) {
	var v struct {
		Candidates *[]Entry `json:"candidates"`
	}
	if json.Unmarshal(body, &v) != nil || v.Candidates == nil {
		return nil, errShape
	}
	var out []int
	for _, c := range *v.Candidates {
		if c.Process() == 0 {
			return nil, errShape
		}
		out = append(out, c.Process())
	}
	return out, nil
}

// program is the file that every shellper runs.
const program = "shellper-main.js"

// Command is what is kept of a process's command line: whose shellper it is, and nothing that stands in its environment.
type Command struct {
	// Known is false where the command line could not be read or understood.
	Known, Shellper bool
	// Socket is where a shellper listens, Farm the state folder that it was started for where it names one, Architect whose
	// conversation it holds, and Cwd where it started its program. An empty string means that the command line does not say it.
	Socket, Farm, Architect, Cwd string
}

// ParseCommand reads the text of a cmdline file. A shellper's first argument is a JSON object that holds its socket, its working
// directory and the environment (contract of Codev 3.3.1: argv is matched by the program's name and the folder of the socket).
func ParseCommand(text []byte) Command {
	if len(text) == 0 {
		return Command{}
	}
	args := bytes.Split(bytes.TrimSuffix(text, []byte{0}), []byte{0})
	var c Command
	for _, arg := range args {
		switch {
		case !c.Shellper:
			c.Shellper = filepath.Base(string(arg)) == program
		case !c.take(arg):
			return Command{Shellper: true}
		}
	}
	c.Known = true
	return c
}

// take reads one argument of a shellper's, and reports whether it could be understood.
func (c *Command) take(arg []byte) bool {
	if arg = bytes.TrimSpace(arg); len(arg) == 0 || arg[0] != '{' {
		return c.listens(string(arg))
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(arg, &fields) != nil {
		return false
	}
	for name, raw := range fields {
		var text string
		var nested struct {
			Farm      string `json:"CODEV_AGENT_FARM_DIR"`
			Architect string `json:"CODEV_ARCHITECT_NAME"`
		}
		switch raw[0] {
		case '"':
			if json.Unmarshal(raw, &text) != nil || !c.listens(text) || name == "cwd" && !takePath(&c.Cwd, text) {
				return false
			}
		case '{':
			if json.Unmarshal(raw, &nested) != nil {
				return false
			}
			c.Farm, c.Architect = c.Farm+nested.Farm, c.Architect+nested.Architect
		}
	}
	return true
}

// listens takes a text that is a socket's path.
func (c *Command) listens(text string) bool {
	return !strings.HasSuffix(text, ".sock") || takePath(&c.Socket, text)
}

// takePath takes a text that is a whole path. Two different ones leave it unknown.
func takePath(to *string, text string) bool {
	if !filepath.IsAbs(text) {
		return true
	}
	text = filepath.Clean(text)
	if *to != "" && *to != text {
		return false
	}
	*to = text
	return true
}

// Codev is what tells the shellpers of one state folder from those of others.
type Codev struct {
	// Home is the state folder, Sockets the real paths of the folders in which its shellpers have their sockets.
	Home    string
	Sockets map[string]bool
}

// NewCodev is the Codev of the state folder home, whose store has those rows. Besides the folders that the rows name, its sockets are where a Tower
// with this environment keeps them; user is the user's home folder, "" where it is not known.
func NewCodev(home string, rows *Records, env func(string) string, user string) Codev {
	o := Codev{Home: home, Sockets: rows.SocketFolders()}
	if set := env("SHELLPER_SOCKET_DIR"); filepath.IsAbs(set) {
		o.Sockets[Resolved(set)] = true
	} else if user != "" {
		o.Sockets[Resolved(filepath.Join(user, ".codev", "run"))] = true
	}
	return o
}

// Owns reports whether a process with this command line is a shellper of this state folder; nil where the command line does not tell. A
// folder counts as a whole: run2 is not run.
func (o Codev) Owns(c *Command) *bool {
	switch {
	case !c.Known:
		return nil
	case !c.Shellper, c.Farm != "" && !SamePath(c.Farm, o.Home):
		return new(false)
	case c.Socket == "":
		return nil
	}
	return new(o.Sockets[Resolved(filepath.Dir(c.Socket))])
}

// Resolved is where path leads, or path itself where that cannot be found out.
func Resolved(path string) string {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return filepath.Clean(path)
	}
	return real
}

// SamePath reports whether two paths lead to the same place.
func SamePath(a, b string) bool {
	return filepath.Clean(a) == filepath.Clean(b) || Resolved(a) == Resolved(b)
}
