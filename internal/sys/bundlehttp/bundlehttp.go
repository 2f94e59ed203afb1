// Package bundlehttp asks a server for a bundle by OPA's protocol: a GET with the tag of what is there already, which the server may answer
// when there is something new (https://www.openpolicyagent.org/docs/management-bundles#bundle-service-api).
//
// It reads, and judges nothing of what it gets.
package bundlehttp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// mediaType is what a server that speaks the protocol, long polling included, says that a bundle is.
const mediaType = "application/vnd.openpolicyagent.bundles"

// maxRedirects is how many a request follows: a release on a forge leads to its store, and that once more.
const maxRedirects = 5

// Request is one question.
type Request struct {
	URL string
	// ETag is the tag of the bundle that is there already, "" for none.
	ETag string
	// Wait is for how long the server may hold its answer back; 0 is not at all.
	Wait time.Duration
	// Token is sent as a bearer token; "" means missing. It is sent to the URL's own host only.
	Token string
	// Within bounds the whole exchange, beyond Wait. Max is how many bytes a bundle may have.
	Within time.Duration
	Max    int64
}

// Answer is what the server said.
type Answer struct {
	// Unchanged is true where the bundle is that of the request's tag; then there is nothing else.
	Unchanged bool
	Data      []byte
	// ETag is the server's tag for it, "" where it gives none.
	ETag string
	// LongPolls is true where the server says that it holds answers back.
	LongPolls bool
}

// Status is an answer without a bundle.
type Status int

func (s Status) Error() string {
	switch int(s) {
	case http.StatusUnauthorized, http.StatusForbidden:
		return fmt.Sprintf("the server answers %d %s: give it a token that it takes (token_file)", int(s), http.StatusText(int(s)))
	case http.StatusNotFound:
		return "the server answers 404 Not Found: correct the URL, or put the bundle there"
	}
	return strings.TrimSpace(fmt.Sprintf("the server answers %d %s", int(s), http.StatusText(int(s))))
}

var (
	errInsist = errors.New("a redirect leads from https to http, which was not followed: correct the URL")
	errMany   = fmt.Errorf("more than %d redirects: correct the URL", maxRedirects)
)

// Check refuses a URL that cannot be asked, or that has a secret in it, which reports and logs would show.
func Check(address string) error {
	u, err := url.Parse(address)
	switch {
	case err != nil:
		return errors.New("it is no URL")
	case u.Scheme != "https" && u.Scheme != "http" || u.Host == "":
		return errors.New("it wants a host, such as https://policies.example.com/winnow.tar.gz")
	case u.User != nil:
		return errors.New("a name or password in it would be shown in reports: put a token into a file, and name that (token_file)")
	case u.RawQuery != "" || u.Fragment != "":
		return errors.New("a query or fragment in it may hold a secret, which reports would show: put a token into a file, and name that (token_file)")
	}
	return nil
}

// Get asks once. An error says what went wrong and on the way to which host, never more of the URL.
func Get(ctx context.Context, r Request) (Answer, error) {
	if err := Check(r.URL); err != nil {
		return Answer{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, r.Within+r.Wait)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.URL, nil)
	if err != nil {
		return Answer{}, errors.New("the request cannot be made: correct the URL")
	}
	req.Header.Set("User-Agent", "winnow")
	prefer := "modes=snapshot" // whole bundles only: a delta cannot be signed
	if r.Wait >= time.Second {
		prefer += fmt.Sprintf(";wait=%d", int(r.Wait/time.Second))
	}
	req.Header.Set("Prefer", prefer)
	if r.ETag != "" {
		req.Header.Set("If-None-Match", r.ETag)
	}
	if r.Token != "" {
		req.Header.Set("Authorization", "Bearer "+r.Token)
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.DisableCompression = true // packed as it is the bundle is what its digest is of
	transport.DisableKeepAlives, transport.TLSHandshakeTimeout, transport.MaxResponseHeaderBytes = true, r.Within, 64<<10
	client := http.Client{Transport: transport, CheckRedirect: follow}
	resp, err := client.Do(req)
	if err != nil {
		return Answer{}, unreached(req.URL.Host, r.Within+r.Wait, err)
	}
	defer resp.Body.Close()
	a := Answer{ETag: resp.Header.Get("ETag"), LongPolls: strings.HasPrefix(resp.Header.Get("Content-Type"), mediaType)}
	switch {
	case resp.StatusCode == http.StatusNotModified && r.ETag != "":
		a.Unchanged = true
		return a, nil
	case resp.StatusCode != http.StatusOK:
		return Answer{}, Status(resp.StatusCode)
	}
	if a.Data, err = io.ReadAll(io.LimitReader(resp.Body, r.Max+1)); err != nil {
		return Answer{}, unreached(req.URL.Host, r.Within+r.Wait, err)
	}
	if int64(len(a.Data)) > r.Max {
		return Answer{}, errors.New("the answer is longer than a bundle may be: see what the server gives there")
	}
	return a, nil
}

// follow goes where a redirect leads, but for one that gives up encryption. The standard library keeps the token from other hosts.
func follow(req *http.Request, via []*http.Request) error {
	switch {
	case len(via) > maxRedirects:
		return errMany
	case req.URL.Scheme != "https" && via[0].URL.Scheme == "https":
		return errInsist
	}
	return nil
}

func unreached(host string, within time.Duration, err error) error {
	for _, known := range []error{errInsist, errMany} {
		if errors.Is(err, known) {
			return known
		}
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%s did not answer whole within %s", host, within)
	}
	if u := new(url.Error); errors.As(err, &u) { // its words have the whole URL
		err = u.Err
	}
	return fmt.Errorf("%s cannot be reached: %w", host, err)
}
