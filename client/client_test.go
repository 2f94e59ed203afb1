package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/winnow-reaper/winnow/client"
	"github.com/winnow-reaper/winnow/internal/sys/listen"
	"github.com/winnow-reaper/winnow/test/kit/must"
	"github.com/winnow-reaper/winnow/test/kit/wait"
)

// serves answers at a unix socket by a handler, until the test has ended.
func serves(t *testing.T, h http.HandlerFunc) *client.Client {
	t.Helper()
	dir := must.Get(filepath.EvalSymlinks(t.TempDir()))(t)
	socket := filepath.Join(dir, "api.sock")
	l := must.Get(net.Listen("unix", socket))(t)
	srv := &http.Server{Handler: h, ReadHeaderTimeout: time.Second}
	go func() { _ = srv.Serve(l) }()
	c := client.New(socket)
	t.Cleanup(func() { c.Close(); _ = srv.Close() })
	return c
}

// TestRequests: each function asks by the method, path, query and body that openapi.yaml describes.
func TestRequests(t *testing.T) {
	t.Parallel()
	asked := ""
	c := serves(t, func(out http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		asked = strings.TrimSpace(fmt.Sprintf("%s %s %s", r.Method, r.URL.RequestURI(), body))
		if r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/holds") {
			_, _ = io.WriteString(out, "[]")
			return
		}
		_, _ = io.WriteString(out, "{}")
	})
	ctx := wait.Within(t, wait.Patience)
	for want, ask := range map[string]func() error{
		"GET /v1/state":  func() error { _, err := c.State(ctx); return err },
		"GET /v1/report": func() error { _, err := c.Report(ctx); return err },
		"GET /v1/explain?candidate=dir%3A%2Fw%2Fa%26b": func() error { _, err := c.Explain(ctx, "dir:/w/a&b"); return err },
		"GET /v1/why-alive?what=812":                   func() error { _, err := c.WhyAlive(ctx, "812", ""); return err },
		"GET /v1/why-alive?as=folder&what=%2Fw":        func() error { _, err := c.WhyAlive(ctx, "/w", "folder"); return err },
		"GET /v1/holds":                                func() error { _, err := c.Holds(ctx); return err },
		`POST /v1/holds {"candidate":"dir:/w","reason":"mine"}`: func() error {
			_, err := c.Hold(ctx, client.Hold{Candidate: "dir:/w", Reason: "mine"})
			return err
		},
		`POST /v1/holds {"candidate":"dir:/w","for":"1h30m0s","reason":"mine"}`: func() error {
			_, err := c.Hold(ctx, client.Hold{Candidate: "dir:/w", Reason: "mine", For: 90 * time.Minute})
			return err
		},
		"DELETE /v1/holds?candidate=dir%3A%2Fw":        func() error { return c.Release(ctx, "dir:/w") },
		`POST /v1/sweep {"wait":true}`:                 func() error { _, err := c.Sweep(ctx, true); return err },
		`POST /v1/pause {"for":"2h0m0s","reason":"x"}`: func() error { return c.Pause(ctx, 2*time.Hour, "x") },
		`POST /v1/pause {"reason":"x"}`:                func() error { return c.Pause(ctx, 0, "x") },
		"DELETE /v1/pause":                             func() error { return c.Resume(ctx) },
	} {
		if err := ask(); err != nil || asked != want {
			t.Errorf("want %s, got %s, %v", want, asked, err)
		}
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	ctx := wait.Within(t, wait.Patience)
	for name, test := range map[string]struct {
		status int
		body   string
		want   client.Error
	}{
		"one of the daemon's":   {409, `{"error":{"code":3,"message":"it lives","document":{"refused":"x"}}}`, client.Error{Status: 409, Code: 3, Message: "it lives", Document: json.RawMessage(`{"refused":"x"}`)}},
		"one that is no JSON":   {502, "<html>", client.Error{Status: 502, Code: 1, Message: "winnow run answered 502 Bad Gateway"}},
		"one that says nothing": {400, `{}`, client.Error{Status: 400, Code: 1, Message: "winnow run answered 400 Bad Request"}},
		"another place":         {302, "", client.Error{Status: 302, Code: 1, Message: "winnow run answered 302 Found"}},
	} {
		c := serves(t, func(out http.ResponseWriter, _ *http.Request) {
			out.Header().Set("Location", "http://example.org/")
			out.WriteHeader(test.status)
			_, _ = io.WriteString(out, test.body)
		})
		for what, ask := range map[string]func() error{
			"state": func() error { _, err := c.State(ctx); return err }, "lease": func() error { _, err := c.Lease(ctx, "dir:/w", "x"); return err },
			"events": func() error { return c.Events(ctx, func(client.Event) error { return nil }) },
		} {
			var got *client.Error
			if err := ask(); !errors.As(err, &got) || got.Status != test.want.Status || got.Code != test.want.Code || got.Message != test.want.Message || string(got.Document) != string(test.want.Document) {
				t.Errorf("%s, %s: %v", name, what, err)
			}
		}
	}
}

// TestNobodyAnswers: a missing socket, one at which no program listens, and what is no socket.
func TestNobodyAnswers(t *testing.T) {
	t.Parallel()
	dir := must.Get(filepath.EvalSymlinks(t.TempDir()))(t)
	left := filepath.Join(dir, "left")
	l := must.Get(net.ListenUnix("unix", &net.UnixAddr{Name: left}))(t)
	l.SetUnlinkOnClose(false)
	must.Do(t, l.Close())
	file := filepath.Join(dir, "file")
	must.Do(t, os.WriteFile(file, nil, 0o600))
	for _, socket := range []string{filepath.Join(dir, "missing"), left, file} {
		c := client.New(socket)
		if _, err := c.State(t.Context()); !errors.Is(err, client.ErrNone) {
			t.Errorf("%s: %v", socket, err)
		}
	}
}

// TestLease: it is there with the first line, ends for the server when it is closed, and for the client when the server ends it.
func TestLease(t *testing.T) {
	t.Parallel()
	gone, drop := make(chan struct{}, 2), make(chan struct{})
	c := serves(t, func(out http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		fmt.Fprintln(out, `{"id":"L1","candidate":"dir:/w","owner":"lease L1","until":"2026-01-02T03:04:05Z"}`)
		_ = http.NewResponseController(out).Flush()
		select {
		case <-r.Context().Done():
		case <-drop:
		}
		gone <- struct{}{}
	})
	ctx := wait.Within(t, wait.Patience)
	l := must.Get(c.Lease(ctx, "dir:/w", "a build"))(t)
	if l.ID != "L1" || l.Candidate != "dir:/w" || !l.Until.Equal(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)) {
		t.Errorf("%+v", l)
	}
	select {
	case <-l.Done():
		t.Fatal("it has ended by itself")
	default:
	}
	must.Do(t, l.Close())
	select {
	case <-gone:
	case <-ctx.Done():
		t.Fatal("the server does not hear of its end")
	}
	<-l.Done()

	l = must.Get(c.Lease(ctx, "dir:/w", "a build"))(t)
	close(drop)
	select {
	case <-l.Done():
	case <-ctx.Done():
		t.Fatal("the client does not hear of its end")
	}
	if !errors.Is(l.Err(), io.EOF) {
		t.Errorf("it ended by %v", l.Err())
	}
}

// TestALeaseThatLapses: a server that hangs keeps the connection, and puts nothing off any more. The client hears of it; while lines come the lease goes on.
func TestALeaseThatLapses(t *testing.T) {
	t.Parallel()
	const lines = 20
	last := make(chan time.Time, 1)
	c := serves(t, func(out http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		for range lines { // each comes after the end that the one before told, which is what a suspension looks like
			until := time.Now().Add(20 * time.Millisecond)
			fmt.Fprintf(out, "{\"id\":\"L1\",\"candidate\":\"dir:/w\",\"owner\":\"lease L1\",\"until\":%q}\n", until.UTC().Format(time.RFC3339Nano))
			_ = http.NewResponseController(out).Flush()
			select {
			case <-time.After(40 * time.Millisecond):
			case <-r.Context().Done():
				return
			}
		}
		last <- time.Now()
		<-r.Context().Done()
	})
	ctx := wait.Within(t, wait.Patience)
	l := must.Get(c.Lease(ctx, "dir:/w", "a build"))(t)
	select {
	case <-l.Done():
	case <-ctx.Done():
		t.Fatal("the client does not hear that its hold has ended")
	}
	if !errors.Is(l.Err(), client.ErrLapsed) {
		t.Errorf("it ended by %v", l.Err())
	}
	select {
	case <-last:
	default:
		t.Error("it ended while it was put off")
	}
}

func TestEvents(t *testing.T) {
	t.Parallel()
	c := serves(t, func(out http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(out, ": winnow\n\nevent: sweep\ndata: {\"mode\":\"acting\",\"last\":{\"sweep\":\"S1\",\"census\":{\"dir\":{\"seen\":3}}}}\n\n: still here\n\nevent: sweep\ndata: {\"mode\":\"acting\",\"last\":null,\"problem\":\"a full disk\"}\n\n")
	})
	var got []client.Event
	err := c.Events(t.Context(), func(e client.Event) error { got = append(got, e); return nil })
	if !errors.Is(err, io.EOF) || len(got) != 2 || got[0].Last.Census["dir"].Seen != 3 || got[1].Last != nil || got[1].Problem != "a full disk" {
		t.Errorf("%+v, %v", got, err)
	}
	stop := errors.New("enough")
	if err := c.Events(t.Context(), func(client.Event) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("it does not stop: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.Events(ctx, func(client.Event) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("after its end: %v", err)
	}
}

// TestFarDown: the kernel takes 107 bytes of a socket's path, and homes may be deeper.
func TestFarDown(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(must.Get(filepath.EvalSymlinks(t.TempDir()))(t), strings.Repeat("d", 120))
	must.Do(t, os.Mkdir(dir, 0o700))
	socket := filepath.Join(dir, "api.sock")
	l := must.Get(listen.Unix(t.Context(), socket))(t)
	srv := &http.Server{ReadHeaderTimeout: time.Second, Handler: http.HandlerFunc(func(out http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(out, `{"mode":"observing"}`) })}
	go func() { _ = srv.Serve(l) }()
	t.Cleanup(func() { _ = srv.Close() })
	c := client.New(socket)
	defer c.Close()
	if s, err := c.State(wait.Within(t, wait.Patience)); err != nil || s.Mode != "observing" {
		t.Errorf("%+v, %v", s, err)
	}
}

// FuzzEscapeID holds that an escaped name is UTF-8, means the name and no other, and that a name which JSON carries stays as it is.
func FuzzEscapeID(f *testing.F) {
	for _, name := range []string{"dir:/w/a", "dir:/w/bad\xff", "dir:/w/%FF", "%:dir:/w/%FF", "%:", "dir:/w/\ufffd", "dir:/ä b/\n?#"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		id := client.EscapeID(name)
		if client.UnescapeID(id) != name || !utf8.ValidString(id) || strings.ContainsRune(id, utf8.RuneError) {
			t.Errorf("%q became %q, and %q", name, id, client.UnescapeID(id))
		}
		if plain := !strings.ContainsRune(name, utf8.RuneError) && !strings.HasPrefix(name, "%:"); plain && id != name {
			t.Errorf("%q became %q", name, id)
		}
	})
}

// TestDocumentsCarryEveryID holds that ids come back as they were, wherever they stand, and that the document itself is not written to.
func TestDocumentsCarryEveryID(t *testing.T) {
	t.Parallel()
	type inner struct{ ID *string }
	type document struct {
		ID  string
		All []inner
		By  map[string]any
		Raw json.RawMessage
	}
	for _, id := range []string{"dir:/w/bad\xff", "dir:/w/\ufffd", "%:dir:/w/x", "dir:/w/x", "%:%FF"} {
		doc := document{ID: id, All: []inner{{&id}, {}}, By: map[string]any{id: []any{id, 7.0, nil}}, Raw: json.RawMessage(`{"a":1}`)}
		data, err := client.Marshal(&doc, json.Marshal)
		if err != nil || doc.ID != id || *doc.All[0].ID != id {
			t.Fatal(doc, err)
		}
		var got document
		if err := client.Unmarshal(data, &got); err != nil || !reflect.DeepEqual(got, doc) {
			t.Errorf("%q: %s became %+v, %v", id, data, got, err)
		}
	}
	if data, err := client.Marshal(map[string]string{"message": "no \xff id"}, json.Marshal); err != nil || string(data) != `{"message":"no \ufffd id"}` {
		t.Errorf("a text that is no id: %s, %v", data, err)
	}
	if data, err := client.Marshal(nil, json.Marshal); err != nil || string(data) != "null" {
		t.Errorf("no document: %s, %v", data, err)
	}
}

func Example() {
	c := client.New("/nowhere/api.sock") // mostly the one that Socket gives
	defer c.Close()
	answer, err := c.WhyAlive(context.Background(), "/home/me/wt/a", "")
	switch {
	case errors.Is(err, client.ErrNone):
		fmt.Println("no daemon answers: whether anything lives there is not known")
	case err != nil:
		fmt.Println("it was not answered:", err)
	default:
		fmt.Println(answer.State, answer.Why)
	}
	// Output: no daemon answers: whether anything lives there is not known
}

// A lease keeps a folder for as long as a program needs it, however the program ends.
func ExampleClient_Lease() {
	socket, err := client.Socket()
	if err != nil {
		log.Fatal(err)
	}
	c := client.New(socket)
	defer c.Close()
	lease, err := c.Lease(context.Background(), "/home/me/wt/a", "a build")
	if err != nil {
		log.Fatal(err)
	}
	defer lease.Close()
	select {
	case <-build():
	case <-lease.Done(): // the daemon has ended: ask the next one for another lease
		log.Print(lease.Err())
	}
}

// build stands for the work.
func build() <-chan struct{} { return make(chan struct{}) }
