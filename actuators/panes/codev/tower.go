package codev

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
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"winnow/actuators"
	"winnow/internal/foreign"
	"winnow/internal/peer"
)

const (
	// maxList and maxAnswer bound what is read of an answer, in bytes. A Tower has 100 terminals at most, of some 300 bytes each.
	maxList   = 1 << 20
	maxAnswer = 64 << 10
	keyHeader = "codev-tower-key"
)

// client asks a Tower. It is asked nothing but what stands here: most of its GETs delete what they find stale.
type client struct {
	base    string
	key     string
	timeout time.Duration
	http    *http.Client
}

// listed is a terminal as a Tower lists it. PID is the shellper's, -1 before there is one.
type listed struct {
	ID     string `json:"id"`
	PID    int    `json:"pid"`
	Label  string `json:"label"`
	Status string `json:"status"`
}

// errKey says that a Tower wants another key; errNotSent that a request did not reach it; errLost that its answer was not understood or
// did not come, so that what it did is not known.
var (
	errKey     = errors.New("the key is not this Tower's; see that local-key is the one that it was started with, or set CODEV_TOWER_KEY")
	errNotSent = errors.New("it cannot be reached")
	errLost    = errors.New("no answer of it came through")
)

// errStarting says that a Tower is not ready yet, and when it wants to be asked again; 0 where it did not say.
type errStarting struct{ after time.Duration }

func (errStarting) Error() string { return "the Tower is still starting" }

// errStatus is an answer that is none of those that the Tower is known to give.
type errStatus int

func (e errStatus) Error() string { return fmt.Sprintf("the Tower answered %d", int(e)) }

// loopback gives the base of a Tower's address. The key must not leave the machine, so every other address is refused.
func loopback(address string) (string, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" || u.User != nil || u.Path != "" && u.Path != "/" || u.RawQuery != "" || u.Fragment != "" {
		return "", actuators.Refused("the address of its Tower is not of the form http://127.0.0.1:4100")
	}
	switch u.Hostname() {
	case "127.0.0.1", "::1", "localhost":
		return "http://" + u.Host, nil
	}
	return "", actuators.Refused("its Tower at %s is not on this machine's loopback, and the key to it must not travel", u.Host)
}

// tower makes the client of the Tower at that address, whose state folder is folder.
func (a *Actuator) tower(address, folder string) (*client, error) {
	base, err := loopback(address)
	if err != nil {
		return nil, err
	}
	key, err := a.key(folder)
	if err != nil {
		return nil, err
	}
	transport := peer.Transport()
	transport.DisableKeepAlives = true // a connection that was kept could be another Tower's by then
	return &client{base: base, key: key, timeout: a.Timeout, http: &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

var (
	keyInFile = regexp.MustCompile(`^[0-9a-fA-F]{64}$`)
	keyInEnv  = regexp.MustCompile(`^[!-~]{1,1000}$`) // what a header can hold
)

// maxKey is the greatest key file that is read, in bytes.
const maxKey = 4 << 10

// key is the key to the Tower of a state folder. It is in nothing but the requests' header.
func (a *Actuator) key(folder string) (string, error) {
	if key := strings.TrimSpace(a.Env("CODEV_TOWER_KEY")); key != "" {
		if !keyInEnv.MatchString(key) {
			return "", actuators.Refused("CODEV_TOWER_KEY holds no key; see how the Tower was started")
		}
		return key, nil
	}
	path := filepath.Join(folder, "local-key")
	// A pipe in its place must not hold the sweep, and nobody else may say what is sent.
	real, err := foreign.Path(path)
	var f *os.File
	if err == nil {
		f, err = foreign.Open(real, foreign.Want{Max: maxKey, Ruling: true})
	}
	switch {
	case errors.Is(err, foreign.ErrOwner), errors.Is(err, foreign.ErrWritable), errors.Is(err, foreign.ErrNotRegular), errors.Is(err, foreign.ErrTooLarge):
		return "", actuators.Refused("%s is not a file of user %d alone, so that its key may be known to others (%w); chmod 600 it", path, a.UID, err)
	case err != nil:
		return "", fmt.Errorf("read the Tower's key: %w; start the Tower once, or set CODEV_TOWER_KEY", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", fmt.Errorf("read the Tower's key: %w", err)
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	if !ok || int(owner.Uid) != a.UID || info.Mode().Perm()&0o077 != 0 || !info.Mode().IsRegular() {
		return "", actuators.Refused("%s is not a file of user %d alone, so that its key may be known to others; chmod 600 it", path, a.UID)
	}
	text, err := io.ReadAll(io.LimitReader(f, maxKey))
	if err != nil {
		return "", fmt.Errorf("read the Tower's key: %w", err)
	}
	if text = bytes.TrimSpace(text); !keyInFile.Match(text) {
		return "", actuators.Refused("%s holds no key of 64 hexadecimal digits; restart the Tower, which makes one", path)
	}
	return string(text), nil
}

// list asks which terminals the Tower has. It is the one question that is asked, and changes nothing.
func (c *client) list(ctx context.Context) ([]listed, error) {
	status, header, body, err := c.ask(ctx, http.MethodGet, "/api/terminals", c.timeout, maxList)
	if err != nil {
		return nil, err
	}
	if status != http.StatusOK {
		return nil, c.refusal(status, header, body)
	}
	var answer struct {
		Terminals *[]listed `json:"terminals"`
	}
	// Nothing is no empty list.
	if err := json.Unmarshal(body, &answer); err != nil || answer.Terminals == nil {
		return nil, fmt.Errorf("%w: its list of terminals is none", errLost)
	}
	return *answer.Terminals, nil
}

// errUnknown says that the Tower does not know the terminal that it was to close.
var errUnknown = errors.New("the Tower says that it does not know it")

// close has the Tower close a terminal. Nil says that it said so. After an errStarting, errKey or errNotSent it has done nothing.
func (c *client) close(ctx context.Context, id string) error {
	status, header, body, err := c.ask(ctx, http.MethodDelete, "/api/terminals/"+url.PathEscape(id), 2*c.timeout, maxAnswer)
	switch {
	case err != nil:
		return err
	case status == http.StatusNoContent:
		return nil
	case status == http.StatusNotFound && word(body) == "NOT_FOUND":
		return errUnknown
	}
	return c.refusal(status, header, body)
}

// refusal says what an answer means that is not the one that was asked for. Its text is not repeated: nobody knows what is in it.
func (c *client) refusal(status int, header http.Header, body []byte) error {
	switch {
	case status == http.StatusUnauthorized:
		return errKey
	case status == http.StatusServiceUnavailable && word(body) == "STARTING_UP":
		seconds, err := strconv.Atoi(header.Get("Retry-After"))
		if err != nil || seconds < 0 || seconds > int(time.Hour/time.Second) {
			seconds = 0
		}
		return errStarting{time.Duration(seconds) * time.Second}
	}
	return errStatus(status)
}

// word is the word by which the Tower names an error.
func word(body []byte) string {
	var answer struct {
		Error string `json:"error"`
	}
	if json.Unmarshal(body, &answer) != nil {
		return ""
	}
	return answer.Error
}

// ask sends one request and reads its answer, within the time and up to the size.
func (c *client) ask(ctx context.Context, method, path string, within time.Duration, limit int64) (int, http.Header, []byte, error) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, nil)
	if err != nil {
		return 0, nil, nil, errNotSent
	}
	req.Header.Set(keyHeader, c.key)
	resp, err := c.http.Do(req)
	if err != nil {
		return 0, nil, nil, c.failure(ctx, err, within)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, limit+1))
	if err != nil {
		return 0, nil, nil, c.failure(ctx, err, within)
	}
	if int64(len(body)) > limit {
		return 0, nil, nil, fmt.Errorf("%w: it is longer than %d bytes", errLost, limit)
	}
	return resp.StatusCode, resp.Header, body, nil
}

// failure says why no answer came, without the words of what came instead.
func (c *client) failure(ctx context.Context, err error, within time.Duration) error {
	var op *net.OpError
	var number syscall.Errno
	kind := errLost
	if errors.As(err, &op) && op.Op == "dial" {
		kind = errNotSent
	}
	switch {
	case peer.Refused(err):
		var url *url.Error
		if errors.As(err, &url) {
			err = url.Err
		}
		return actuators.Refused("%w: %w", errNotSent, err)
	case errors.Is(context.Cause(ctx), context.DeadlineExceeded):
		return fmt.Errorf("%w within %s", kind, within)
	case ctx.Err() != nil:
		return fmt.Errorf("%w: %w", kind, context.Cause(ctx))
	case errors.As(err, &number):
		return fmt.Errorf("%w: %w", kind, number)
	case kind == errNotSent:
		return fmt.Errorf("%w: %w", kind, op.Err)
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("%w: it closed the connection", kind)
	}
	return fmt.Errorf("%w: what came is no HTTP", kind)
}
