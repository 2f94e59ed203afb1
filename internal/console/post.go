package console

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/winnow-reaper/winnow/client"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/document"
	"github.com/winnow-reaper/winnow/internal/render"
	"github.com/winnow-reaper/winnow/internal/report"
)

// maxReason is how long a reason may be, in bytes.
const maxReason = 500

// spans are how long a hold or a pause may be asked for; "" is without an end.
var spans = []string{"", "1h", "4h", "1d", "2d", "7d", "30d"}

// form is a form that was sent, by one session. The first thing that is wrong with it is its error.
type form struct {
	url.Values
	err error
}

// check notes what is wrong with a form where ok is false.
func (f *form) check(ok bool, wrong string) {
	if !ok && f.err == nil {
		f.err = errors.New(wrong)
	}
}

// id is a name that a page had written into the form, byte for byte: it is escaped there, because browsers change line breaks and bytes that are not UTF-8.
func (f *form) id(name string) string {
	id, err := url.QueryUnescape(f.Get(name))
	f.check(err == nil && id != "", "the form does not say what it is about; nothing was done")
	return id
}

func (f *form) long() string {
	f.check(slices.Contains(spans, f.Get("for")), "the form has a time that the console does not offer; nothing was done")
	return f.Get("for")
}

func (f *form) reason() string {
	reason := strings.TrimSpace(f.Get("reason"))
	f.check(len(reason) <= maxReason && utf8.ValidString(reason) && !strings.ContainsAny(reason, "\n\r\x00"), "the reason is longer than 500 bytes, or not one line; nothing was done")
	return reason
}

// send asks a route of the API for what a form wants, unless something is wrong with the form.
func send[T any](ctx context.Context, s *Server, f *form, method, path string, p client.Params) (out T, err error) {
	if f.err != nil {
		return out, f.err
	}
	return ask[T](ctx, s, method, path, p)
}

// actions are what a form may ask for. None of them ends anything that lives.
var actions = map[string]func(s *Server, ctx context.Context, f *form) (string, error){
	"/sweep": func(s *Server, ctx context.Context, f *form) (string, error) {
		r, err := send[report.Report](ctx, s, f, http.MethodPost, "/v1/look", client.Params{})
		return report.Headline(&r) + "; nothing was changed", err
	},
	"/hold": func(s *Server, ctx context.Context, f *form) (string, error) {
		p := client.Params{Candidate: f.id("id"), Reason: f.reason(), For: f.long(), Whole: true}
		f.check(p.Reason != "", "the reason is missing: say why it must stay; nothing was held")
		h, err := send[snapshot.Hold](ctx, s, f, http.MethodPost, "/v1/holds", p)
		return render.Held(h), err
	},
	"/release": func(s *Server, ctx context.Context, f *form) (string, error) {
		out, err := send[document.Released](ctx, s, f, http.MethodDelete, "/v1/holds", client.Params{Candidate: f.id("id"), Whole: true})
		return render.Released(out), err
	},
	"/restore": func(s *Server, ctx context.Context, f *form) (string, error) {
		act := f.id("act")
		if f.err != nil {
			return "", f.err
		}
		return s.api.Restore(ctx, act)
	},
	"/purge": func(s *Server, ctx context.Context, f *form) (string, error) {
		f.check(f.Get("confirm") == "yes", "it was not confirmed; nothing was removed")
		acts := slices.Compact(slices.Sorted(slices.Values(f.Values["act"])))
		f.check(len(acts) > 0 && len(acts) <= purgeAtOnce && acts[0] != "", "the form does not say what to remove; nothing was removed")
		if f.err != nil {
			return "", f.err
		}
		return s.api.Purge(ctx, acts)
	},
	"/pause": func(s *Server, ctx context.Context, f *form) (string, error) {
		p, err := send[document.Pause](ctx, s, f, http.MethodPost, "/v1/pause", client.Params{Reason: f.reason(), For: f.long()})
		return render.Paused(p, ""), err
	},
	"/resume": func(s *Server, ctx context.Context, f *form) (string, error) {
		out, err := send[document.Resumed](ctx, s, f, http.MethodDelete, "/v1/pause", client.Params{})
		if err == nil && !out.Resumed {
			err = errors.New(render.Resumed(out))
		}
		return render.Resumed(out), err
	},
}

// post does what a form asks for, and leads back to the page that it stood on, with what came of it.
func (s *Server) post(w http.ResponseWriter, r *http.Request, session string) {
	r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	if kind, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";"); strings.TrimSpace(kind) != "application/x-www-form-urlencoded" {
		s.refuse(w, wrongBody)
		return
	}
	if err := r.ParseForm(); err != nil {
		s.refuse(w, wrongBody)
		return
	}
	f := &form{Values: r.PostForm}
	if given := f.Values["csrf"]; len(given) != 1 || !equal(given[0], s.keys.csrf(session)) {
		s.refuse(w, wrongForm)
		return
	}
	do, ok := actions[r.URL.Path]
	if !ok {
		http.NotFound(w, r)
		return
	}
	// It is brought to its end, also where the browser does not wait for it.
	said, err := do(s, context.WithoutCancel(r.Context()), f)
	m := message{Text: said}
	if err != nil {
		m = message{Text: err.Error(), Bad: true}
	}
	back, err := url.Parse(knownBack(f.Get("back")))
	if err != nil {
		back = &url.URL{Path: "/"}
	}
	q := back.Query()
	q.Set("said", s.messages.add(m))
	back.RawQuery = q.Encode()
	http.Redirect(w, r, back.String(), http.StatusSeeOther)
}

// message is what came of a form.
type message struct {
	Text string
	Bad  bool
}

// maxMessages is how many of the latest messages are kept.
const maxMessages = 64

// messages are what came of forms, by an unguessable name: an address can name one, and not write one.
type messages struct {
	mu    sync.Mutex
	names []string
	all   map[string]message
}

func (k *messages) add(m message) string {
	name := random()[:16]
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.all == nil {
		k.all = map[string]message{}
	}
	if len(k.names) == maxMessages {
		delete(k.all, k.names[0])
		k.names = k.names[1:]
	}
	k.names, k.all[name] = append(k.names, name), m
	return name
}

func (k *messages) get(name string) *message {
	k.mu.Lock()
	defer k.mu.Unlock()
	if m, ok := k.all[name]; ok {
		return &m
	}
	return nil
}
