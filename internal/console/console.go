// Package console is a web page for one person on this machine: what is here, what would go and why, acts, holds, trash, alarms and policies.
//
// It is a client of the local API. Nothing here ends anything that lives: a page can hold, release, bring back, pause, resume, look, and remove for
// good what lies in the trash, after it asked.
package console

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"

	"github.com/winnow-reaper/winnow/client"
	"github.com/winnow-reaper/winnow/internal/document"
)

// API is the local API of the daemon that answers, or of an observing one in this process. Its methods are called from several goroutines.
type API interface {
	// Ask asks a route and reads its document into out, a pointer to it. POST /v1/look first reads the configuration again.
	Ask(ctx context.Context, method, path string, p client.Params, out any) error
	// Restore brings back what the act of a whole id set aside. What it gives is for a person, without markup. No route of the API does this.
	Restore(ctx context.Context, act string) (said string, err error)
	// Purge removes for good what the acts of whole ids set aside, by the rules of winnow trash empty.
	Purge(ctx context.Context, acts []string) (said string, err error)
}

// ask asks a route of the API for a document.
func ask[T any](ctx context.Context, s *Server, method, path string, p client.Params) (out T, err error) {
	err = s.api.Ask(ctx, method, path, p, &out)
	return out, err
}

// read asks a route that only reads.
func read[T any](ctx context.Context, s *Server, path string, p client.Params) (T, error) {
	return ask[T](ctx, s, http.MethodGet, path, p)
}

// latest gives the latest look, without a report before the first has ended. It never waits for a look.
func (s *Server) latest(ctx context.Context) document.Look {
	s.mu.Lock()
	before := s.look
	s.mu.Unlock()
	now, err := read[document.Look](ctx, s, "/v1/look", client.Params{Stamp: before.Stamp})
	if err != nil {
		before.Problem = err.Error()
		return before
	}
	if now.Report == nil { // nothing is new, or it is not kept any more
		now.Report = before.Report
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.look = now
	return now
}

// running reports whether the state is that of winnow run, and not of the daemon in this process.
func running(s document.State) bool { return s.PID != 0 && s.PID != os.Getpid() }

// stampOf changes when a page may show something else.
func stampOf(l document.Look, s document.State) string {
	return fmt.Sprint(l.Stamp, len(l.Problem), s.Mode, len(s.Problem), len(s.Brakes), running(s))
}

// stamp is that of now.
func (s *Server) stamp(ctx context.Context) string {
	state, _ := read[document.State](ctx, s, "/v1/state", client.Params{}) // a page says what is wrong with it
	return stampOf(s.latest(ctx), state)
}

// policy is the content security policy of every answer.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"

// maxBody bounds what a form may send, in bytes.
const maxBody = 64 << 10

// keys are made at every start. The token opens a session; everything else is derived from secret.
type keys struct {
	token  string
	secret []byte
	// host is what a browser sends as Host, cookie the name of the cookie: cookies are shared by all ports of an address, so it has the port in it.
	host, cookie string
}

func newKeys(at net.Addr) keys {
	k := keys{token: random(), secret: make([]byte, 32), host: at.String()}
	_, _ = rand.Read(k.secret) // it never fails
	_, port, _ := net.SplitHostPort(k.host)
	k.cookie = "winnow-console-" + port
	if port == "80" { // browsers leave it out
		k.host = strings.TrimSuffix(k.host, ":80")
	}
	return k
}

// random is an unguessable word of 256 bits.
func random() string {
	b := make([]byte, 32)
	_, _ = rand.Read(b)
	return base64.RawURLEncoding.EncodeToString(b)
}

func (k keys) mac(purpose, text string) string {
	m := hmac.New(sha256.New, k.secret)
	m.Write([]byte(purpose + "\x00" + text))
	return base64.RawURLEncoding.EncodeToString(m.Sum(nil))
}

// session makes the value of a cookie.
func (k keys) session() string {
	id := random()
	return id + "." + k.mac("session", id)
}

// sessionOf gives the session of a request, "" where it has none of this start.
func (k keys) sessionOf(r *http.Request) string {
	c, err := r.Cookie(k.cookie)
	if err != nil {
		return ""
	}
	id, mac, _ := strings.Cut(c.Value, ".")
	if !equal(mac, k.mac("session", id)) {
		return ""
	}
	return id
}

// csrf is the word that every form of a session carries.
func (k keys) csrf(session string) string { return k.mac("csrf", session) }

// equal compares in a time that does not depend on where the texts differ.
func equal(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// refusal is an answer to what is not let in.
type refusal struct {
	code int
	text string
}

var (
	wrongHost   = &refusal{http.StatusMisdirectedRequest, "This console answers at its own address only. Open the address that winnow console printed."}
	wrongMethod = &refusal{http.StatusMethodNotAllowed, "This console takes GET, HEAD and POST."}
	wrongOrigin = &refusal{http.StatusForbidden, "The request came from another page. Nothing was done. Type the address of the console into the address bar."}
	noSession   = &refusal{http.StatusForbidden, "This console does not know this browser. Nothing was done. Open the address that winnow console printed, with its token. A console that was started again has a new one."}
	wrongForm   = &refusal{http.StatusForbidden, "The form is not one of this session. Nothing was done. Load the page again and send the form from there."}
	wrongBody   = &refusal{http.StatusBadRequest, "The form could not be read, or is too large. Nothing was done."}
)

// headers are those of every answer.
func headers(h http.Header) {
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cross-Origin-Embedder-Policy", "require-corp")
	h.Set("Permissions-Policy", "camera=(), microphone=(), geolocation=()")
	h.Set("Cache-Control", "no-store")
}

// refusal says why a request is not let in, before anything of it is read but its headers.
func (k keys) refusal(r *http.Request) *refusal {
	switch {
	case r.Host != k.host:
		return wrongHost
	case r.Method != http.MethodGet && r.Method != http.MethodHead && r.Method != http.MethodPost:
		return wrongMethod
	case !k.fromHere(r):
		return wrongOrigin
	}
	return nil
}

// fromHere reports whether a request comes from a page of the console, or, where it only reads, from a person at the address bar.
//
// A browser that follows no-referrer sends the Origin null with a form of our own; then it has to say by Sec-Fetch-Site that it is of our own.
func (k keys) fromHere(r *http.Request) bool {
	site, origin := r.Header.Get("Sec-Fetch-Site"), r.Header.Get("Origin")
	own := origin == "http://"+k.host
	switch site {
	case "same-origin":
		return own || origin == "" || origin == "null"
	case "none":
		return r.Method != http.MethodPost && (own || origin == "")
	case "": // a browser of before 2023, or no browser
		return own || origin == "" && r.Method != http.MethodPost
	}
	return false
}
