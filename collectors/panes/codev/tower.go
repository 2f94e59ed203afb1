package codev

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"winnow/internal/peer"
)

const (
	keyHeader = "codev-tower-key"
	// maxAnswer is the longest answer that is read, in bytes. A Tower has 100 terminals at most, of some 300 bytes each.
	maxAnswer = 4 << 20
)

// The failures of a Tower, each with what to do about it.
var (
	errDown     = errors.New("no Tower runs there; start it (afx tower start)")
	errStarting = errors.New("it is starting up; look again in a moment")
	errKey      = errors.New("it refuses the key (401); set CODEV_TOWER_KEY to the key that it was started with, or name this folder's own Tower in collect.codev.tower")
	errHangs    = errors.New("it did not answer in time; see whether it hangs, or is still starting")
	errLong     = fmt.Errorf("the answer is longer than the %d MiB that winnow reads; see what listens there", maxAnswer>>20)
	errShape    = errors.New("the answer is none that winnow knows; see what listens there: this version reads Codev 3.3")
)

// client asks one Tower during one reading, and only what changes nothing there.
type client struct {
	base    string
	key     string
	timeout time.Duration
	http    *http.Client
}

// newClient gives a client that goes nowhere but to a server of this user on this machine: through no proxy, after no redirect, to no
// other address, and not to another user who took the Tower's.
func newClient(base, key string, timeout time.Duration) *client {
	return &client{base: base, key: key, timeout: timeout, http: &http.Client{
		Transport:     peer.Transport(),
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

func (t *client) close() { t.http.CloseIdleConnections() }

// version asks who answers. The key is not sent, for it is not known yet whether that is a Tower.
func (t *client) version(ctx context.Context) (string, error) {
	body, err := t.get(ctx, "/api/version", "")
	if err != nil {
		return "", err
	}
	version, err := parseVersion(body)
	return version, t.named("/api/version", err)
}

// terminals asks which terminals it has.
func (t *client) terminals(ctx context.Context) ([]entry, error) {
	body, err := t.get(ctx, "/api/terminals", t.key)
	if err != nil {
		return nil, err
	}
	all, err := parseTerminals(body)
	return all, t.named("/api/terminals", err)
}

// husks asks for the pids of shellpers that the Tower itself would sweep. A Tower without a manager of shellpers has none to tell of.
func (t *client) husks(ctx context.Context) ([]int, error) {
	body, err := t.get(ctx, "/api/shellpers/husks", t.key)
	if errors.Is(err, errUnavailable) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	pids, err := parseHusks(body)
	return pids, t.named("/api/shellpers/husks", err)
}

// errUnavailable is a 503 that does not say that the Tower is starting.
var errUnavailable = errors.New("it answers 503; look again in a moment")

// get gives the body of a 200. Nothing of another answer is in the error, for nobody knows what it holds.
func (t *client) get(ctx context.Context, path, key string) ([]byte, error) {
	within, cancel := context.WithTimeout(ctx, t.timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(within, http.MethodGet, t.base+path, nil)
	if err != nil {
		return nil, t.named(path, err)
	}
	if key != "" {
		req.Header.Set(keyHeader, key)
	}
	status, body, err := t.do(req)
	switch {
	case ctx.Err() != nil && err != nil:
		return nil, t.named(path, fmt.Errorf("no answer in time: %w; see whether the Tower hangs, or raise collect.timeout", ctx.Err()))
	case within.Err() != nil && err != nil:
		return nil, t.named(path, fmt.Errorf("%w (%w after %s)", errHangs, within.Err(), t.timeout))
	case err != nil:
		return nil, t.named(path, err)
	}
	return body, t.named(path, refused(status, body))
}

func (t *client) do(req *http.Request) (int, []byte, error) {
	resp, err := t.http.Do(req)
	if err != nil {
		return 0, nil, lost(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	switch {
	case err != nil:
		return 0, nil, lost(err)
	case len(body) > maxAnswer:
		return 0, nil, errLong
	}
	return resp.StatusCode, body, nil
}

// lost explains a connection that did not come about, or ended before the answer did. The words of what came instead are left out.
func lost(err error) error {
	var no syscall.Errno
	switch {
	case errors.Is(err, unix.ECONNREFUSED):
		return errDown
	case peer.Refused(err):
		return refusedPeer(err)
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, unix.ECONNRESET):
		return errors.New("it hung up before the answer was whole; it may be restarting: look again")
	case errors.As(err, &no):
		return fmt.Errorf("%w; see what listens there", no)
	}
	return errShape
}

// refusedPeer leaves the words of the HTTP client out, which name the URL once more.
func refusedPeer(err error) error {
	var url *url.Error
	if errors.As(err, &url) {
		err = url.Err
	}
	return err
}

// refused says what an answer means that is no 200.
func refused(status int, body []byte) error {
	switch {
	case status == http.StatusOK:
		return nil
	case status == http.StatusUnauthorized:
		return errKey
	case status == http.StatusServiceUnavailable && word(body) == "STARTING_UP":
		return errStarting
	case status == http.StatusServiceUnavailable:
		return errUnavailable
	}
	return fmt.Errorf("it answers %d; see what listens there: this version reads Codev 3.3", status)
}

// named adds which question of which Tower failed; nil stays nil.
func (t *client) named(path string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("ask the Tower at %s for %s: %w", t.base, path, err)
}

// entry is a terminal as the Tower lists it.
type entry struct {
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

func (e *entry) pid() int {
	if e == nil || e.PID == nil || *e.PID <= 0 || *e.PID >= 1<<31 {
		return 0
	}
	return *e.PID
}

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

// parseTerminals reads the answer to /api/terminals. Nothing is no empty list, and one that cannot be understood makes the others
// doubtful: it may be any of them that is not listed.
func parseTerminals(body []byte) ([]entry, error) {
	var v struct {
		Terminals *[]entry `json:"terminals"`
	}
	if json.Unmarshal(body, &v) != nil || v.Terminals == nil {
		return nil, errShape
	}
	seen := map[string]bool{}
	for _, e := range *v.Terminals {
		if !terminalID.MatchString(e.ID) || seen[e.ID] {
			return nil, errShape
		}
		seen[e.ID] = true
	}
	return *v.Terminals, nil
}

// parseHusks reads the pids in the answer to /api/shellpers/husks.
func parseHusks(body []byte) ([]int, error) {
	var v struct {
		Candidates *[]struct {
			PID *int `json:"pid"`
		} `json:"candidates"`
	}
	if json.Unmarshal(body, &v) != nil || v.Candidates == nil {
		return nil, errShape
	}
	var out []int
	for _, c := range *v.Candidates {
		if c.PID == nil || *c.PID <= 0 || *c.PID >= 1<<31 {
			return nil, errShape
		}
		out = append(out, *c.PID)
	}
	return out, nil
}

// word is the word by which the Tower names an error.
func word(body []byte) string {
	var v struct {
		Error string `json:"error"`
	}
	if json.Unmarshal(body, &v) != nil {
		return ""
	}
	return v.Error
}

// validKey is what can be sent as a key: Codev's own are 64 hexadecimal digits.
var validKey = regexp.MustCompile(`^[!-~]{1,512}$`)

// readKey gives the key that the Tower wants, as its own clients find it, and whether it is the state folder's own. It is in no error.
func readKey(home, fromEnv string) (key string, own bool, err error) {
	path := filepath.Join(home, keyFile)
	inFile, err := keyIn(path)
	if fromEnv = strings.TrimSpace(fromEnv); fromEnv != "" {
		if !validKey.MatchString(fromEnv) {
			return "", false, errors.New("CODEV_TOWER_KEY holds no key; unset it, or set it to what the Tower was started with")
		}
		return fromEnv, err == nil && inFile == fromEnv, nil
	}
	return inFile, err == nil, err
}
