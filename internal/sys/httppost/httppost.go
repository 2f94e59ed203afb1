// Package httppost sends a document to one server, and to no other.
//
// It speaks https; http only to this machine; or HTTP over a unix socket of this user's. It follows no redirect, so that neither the document nor a token goes to
// another address than the one that was configured. What an error says never has more of the address than its host, for a path or query may be a secret.
package httppost

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/winnow-reaper/winnow/internal/sys/peercred"
)

// Unix begins the address of a unix socket: unix:PATH.
const Unix = "unix:"

const (
	// maxAnswer is how much of an answer is read, in bytes. The rest says nothing that is used.
	maxAnswer = 64 << 10
	// maxRetryAfter bounds how long a server may ask to wait.
	maxRetryAfter = 10 * time.Minute
)

// Target is where documents go, and how.
type Target struct {
	// Address is an https or http URL, or unix:PATH. Path is the path of the URL for a unix socket.
	Address, Path string
	// Header, where it is not empty, is sent with the value Secret.
	Header, Secret string
	// Encoding is that of the body, such as gzip; "" where it is not encoded.
	Encoding string
	// Anywhere lets http go to other machines too: others may read the document on its way. A secret never goes there.
	Anywhere bool
	// Within bounds one exchange.
	Within time.Duration
}

// Status is an answer that is no success.
type Status struct {
	Host string
	Code int
	// After is for how long the server asks to wait, 0 where it does not say.
	After time.Duration
}

func (s Status) Error() string {
	text := strings.TrimSpace(fmt.Sprintf("%s answers %d %s", s.Host, s.Code, http.StatusText(s.Code)))
	switch {
	case s.Code >= 300 && s.Code < 400:
		return text + ", which leads elsewhere and was not followed: correct the address"
	case s.Code == http.StatusUnauthorized || s.Code == http.StatusForbidden:
		return text + ": give it a token that it takes (token_file)"
	case s.Code == http.StatusNotFound:
		return text + ": correct the address"
	}
	return text
}

// Passes reports whether an error may pass by itself, so that a second try makes sense, and after what time the server wants it; 0 where it does not say.
func Passes(err error) (after time.Duration, passes bool) {
	var s Status
	if !errors.As(err, &s) {
		return 0, !errors.Is(err, ErrNever)
	}
	switch {
	case s.Code == http.StatusRequestTimeout, s.Code == http.StatusTooEarly, s.Code == http.StatusTooManyRequests, s.Code >= 500 && s.Code != http.StatusNotImplemented:
		return s.After, true
	}
	return 0, false
}

// ErrNever marks what another try cannot mend. Callers wrap it for what they find out before they send.
var ErrNever = errors.New("it was not sent")

// ErrHome says that plain http would leave this machine.
var ErrHome = errors.New("http goes to this machine only: write https")

// Check refuses an address to which nothing is sent. With open it is one that stands in a configuration, which reports and logs may show: then it has no secret in it.
func Check(address string, open bool) error {
	if path, ok := strings.CutPrefix(address, Unix); ok {
		if !strings.HasPrefix(path, "/") {
			return errors.New("a unix socket wants its whole path: unix:/PATH")
		}
		return nil
	}
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "":
		return errors.New("it wants an address such as https://hooks.example.com/winnow, or unix:/PATH")
	case u.User != nil:
		return errors.New("a name or password in it would be shown: put the token into a file")
	case u.Fragment != "":
		return errors.New("it has a fragment (#), which is not sent: leave it out")
	case open && u.RawQuery != "":
		return errors.New("a query in it may hold a secret, which would be shown: put the whole address into a file")
	case u.Scheme == "http" && u.Hostname() != "localhost" && !net.ParseIP(u.Hostname()).IsLoopback():
		return ErrHome
	}
	return nil
}

// Post sends a document and gives what the server answered, at most 64 KiB of it. Status is an answer that is no success.
func Post(ctx context.Context, t Target, contentType string, body []byte) ([]byte, error) {
	anywhere := t.Anywhere && t.Secret == ""
	if err := Check(t.Address, false); err != nil && !(anywhere && errors.Is(err, ErrHome)) {
		return nil, fmt.Errorf("%w: %w", ErrNever, err)
	}
	ctx, cancel := context.WithTimeout(ctx, t.Within)
	defer cancel()
	address, host, transport := t.Address, "", http.DefaultTransport.(*http.Transport).Clone()
	transport.DisableKeepAlives, transport.MaxResponseHeaderBytes = true, 64<<10 // there is a message now and then
	if path, ok := strings.CutPrefix(t.Address, Unix); ok {
		address, host = "http://localhost/"+strings.TrimPrefix(t.Path, "/"), path
		transport.Proxy = nil
		transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			conn, _, err := peercred.Dial(ctx, path)
			if err != nil { // not a nil pointer in an interface
				return nil, err
			}
			return conn, nil
		}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("%w: the address is none: correct it", ErrNever)
	}
	if host == "" {
		host = req.URL.Host
	}
	if req.URL.Scheme == "http" && transport.Proxy != nil && !anywhere {
		transport.Proxy = nil
		transport.DialContext = (&net.Dialer{Control: home}).DialContext
	}
	req.Header.Set("User-Agent", "winnow")
	req.Header.Set("Content-Type", contentType)
	if t.Encoding != "" {
		req.Header.Set("Content-Encoding", t.Encoding)
	}
	if t.Header != "" {
		req.Header.Set(t.Header, t.Secret)
	}
	client := http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := client.Do(req)
	if err != nil {
		return nil, unreached(host, t.Within, err)
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if res.StatusCode < 200 || res.StatusCode >= 300 {
		return answer, Status{Host: host, Code: res.StatusCode, After: retryAfter(res.Header.Get("Retry-After"))}
	}
	if err != nil {
		return nil, unreached(host, t.Within, err)
	}
	return answer, nil
}

// home refuses to connect to anything but this machine, by any name.
func home(_, address string, _ syscall.RawConn) error {
	if to, err := netip.ParseAddrPort(address); err != nil || !to.Addr().Unmap().IsLoopback() {
		return ErrHome
	}
	return nil
}

// retryAfter is for how long a server asks to wait.
func retryAfter(header string) time.Duration {
	d := time.Duration(0)
	if n, err := strconv.Atoi(header); err == nil && n > 0 {
		d = time.Duration(min(n, 1<<20)) * time.Second
	} else if at, err := http.ParseTime(header); err == nil {
		d = time.Until(at)
	}
	return min(max(d, 0), maxRetryAfter)
}

func unreached(host string, within time.Duration, err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%s did not answer within %s", host, within)
	}
	if u := new(url.Error); errors.As(err, &u) { // its words have the whole address
		err = u.Err
	}
	if errors.Is(err, ErrHome) || peercred.Refused(err) {
		err = fmt.Errorf("%w: %w", ErrNever, err)
	}
	return fmt.Errorf("%s cannot be reached: %w", host, err)
}
