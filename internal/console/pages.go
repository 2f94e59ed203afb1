package console

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/winnow-reaper/winnow/client"
	"github.com/winnow-reaper/winnow/engine/decision"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/document"
	"github.com/winnow-reaper/winnow/internal/exit"
	"github.com/winnow-reaper/winnow/internal/render"
	"github.com/winnow-reaper/winnow/internal/report"
	"github.com/winnow-reaper/winnow/internal/text"
)

// How many things a page shows.
const (
	rowsAPage   = 100
	actsAPage   = 50
	purgeAtOnce = 500
)

// frame is what every page has around its content.
type frame struct {
	Title, Path, CSRF, Stamp string
	// Back is the address of this page, without the message.
	Back    string
	Said    *message
	Looked  *report.Report
	Problem string
	// State is that of winnow run where Running is true, else of the daemon in this process.
	State   document.State
	Running bool
	// Alarms is how many there are.
	Alarms int
	Body   any
}

// Unread are the sources that the look could not read.
func (f frame) Unread() []string {
	if f.Looked != nil {
		return report.NotRead(f.Looked.Sources)
	}
	return nil
}

// Nav are the pages, in their order.
func (f frame) Nav() []place { return places }

type place struct{ Path, Name string }

var places = []place{{"/", "Overview"}, {"/going", "Would go"}, {"/here", "Here"}, {"/agents", "Agents"},
	{"/acts", "Acts"}, {"/holds", "Holds"}, {"/trash", "Trash"}, {"/alarms", "Alarms"}, {"/policies", "Policies"}}

// view gives the title and the content of a page, and the template for it.
type view func(s *Server, r *http.Request, looked *report.Report) (title, template string, body any, err error)

var views = map[string]view{
	"/": (*Server).overview, "/here": (*Server).candidates, "/agents": routeView[report.Running]("Agents", "/v1/top"), "/going": (*Server).going,
	"/candidate": (*Server).candidate, "/acts": (*Server).acts, "/holds": routeView[[]snapshot.Hold]("Holds", "/v1/holds"),
	"/trash": (*Server).trash, "/trash/purge": (*Server).purging, "/alarms": (*Server).alarms, "/policies": (*Server).policies,
}

// routeView is a page that shows what a route of the API gives.
func routeView[T any](title, path string) view {
	return func(s *Server, r *http.Request, _ *report.Report) (string, string, any, error) {
		given, err := read[T](r.Context(), s, path, client.Params{})
		return title, strings.ToLower(title), given, err
	}
}

// missing is an error for what is not there.
type missing struct{ error }

// page answers with a page.
func (s *Server) page(w http.ResponseWriter, r *http.Request, session string) {
	state, failed := read[document.State](r.Context(), s, "/v1/state", client.Params{})
	look := s.latest(r.Context())
	f := frame{Path: r.URL.Path, CSRF: s.keys.csrf(session), Stamp: stampOf(look, state), Said: s.messages.get(r.URL.Query().Get("said")),
		Looked: look.Report, Problem: look.Problem, State: state, Running: running(state)}
	if f.Looked != nil {
		f.Alarms = len(f.Looked.Alarms)
	}
	f.Back = backOf(r.URL)
	code, name, err := http.StatusOK, "", failed
	switch show, ok := views[r.URL.Path]; {
	case !ok:
		err = missing{errors.New("there is no such page")}
	case err == nil:
		f.Title, name, f.Body, err = show(s, r, f.Looked)
	}
	if err != nil {
		code, name, f.Title, f.Body = http.StatusInternalServerError, "failed", "It failed", err.Error()
		if errors.As(err, new(missing)) {
			code, f.Title = http.StatusNotFound, "Not found"
		}
	}
	if f.Looked == nil && f.Problem == "" {
		w.Header().Set("Refresh", "2") // the first look is under way
	}
	var out bytes.Buffer
	if err := s.pages.ExecuteTemplate(&out, name, f); err != nil {
		s.log.Error("make a page", "page", r.URL.Path, "error", err)
		http.Error(w, "the page could not be made", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Length", strconv.Itoa(out.Len()))
	w.WriteHeader(code)
	if r.Method != http.MethodHead {
		_, _ = out.WriteTo(w)
	}
}

// backOf is the address to which a form of a page leads back.
func backOf(u *url.URL) string {
	q := u.Query()
	q.Del("said")
	return (&url.URL{Path: u.Path, RawQuery: q.Encode()}).String()
}

// knownBack is an address that a form may lead back to: a page of ours, "/" for anything else.
func knownBack(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "" || u.Host != "" || u.User != nil || u.Opaque != "" || u.Fragment != "" || views[u.Path] == nil {
		return "/"
	}
	return backOf(u)
}

// candidates are what was found, by owner.
func (s *Server) candidates(r *http.Request, looked *report.Report) (string, string, any, error) {
	q := r.URL.Query()
	body := struct {
		Filter filter
		Rows   []row
		Pager  pager
		Kinds  []snapshot.Kind
		States []string
	}{Kinds: snapshot.Kinds, States: states, Filter: filter{
		Kind: q.Get("kind"), State: q.Get("verdict"), Owner: q.Get("owner"), Sort: q.Get("sort"), Words: strings.TrimSpace(q.Get("q")),
	}}
	if looked != nil {
		all := s.rows.get(looked)
		if slices.Contains(report.Orders, body.Filter.Sort) {
			sorted := *looked
			sorted.Select(report.Selection{Sort: body.Filter.Sort})
			all = rowsOf(&sorted)
		}
		body.Rows, body.Pager = paged(body.Filter.matching(all), r.URL, rowsAPage)
	}
	return "What is here", "here", body, nil
}

// going is what would go, or would but for a wait or a level: what has one place and one reason stands together.
func (s *Server) going(r *http.Request, looked *report.Report) (string, string, any, error) {
	body := struct {
		Rows           []row
		Pager          pager
		Usage          report.Usage
		Caps           []decision.Cap
		Space          *report.Space
		Protect, Level string
	}{}
	if looked != nil {
		body.Usage, body.Caps, body.Space = looked.Usage(), looked.Caps, looked.Space
		var all []row
		for i, g := range body.Usage.Groups {
			for _, d := range g.Members {
				x := rowOf(looked, d)
				x.Group = &body.Usage.Groups[i]
				all = append(all, x)
			}
		}
		body.Rows, body.Pager = paged(all, r.URL, rowsAPage)
		body.Protect, body.Level = report.Levels(looked.Levels)
	}
	return "What would go, and why", "going", body, nil
}

// candidate is all about one thing.
func (s *Server) candidate(r *http.Request, looked *report.Report) (string, string, any, error) {
	id := r.URL.Query().Get("id")
	x, err := read[document.Explanation](r.Context(), s, "/v1/explain", client.Params{Candidate: id, Latest: true})
	if exit.Code(err) == exit.Usage {
		err = missing{err}
	}
	if err != nil {
		return "", "", nil, err
	}
	holds, err := read[[]snapshot.Hold](r.Context(), s, "/v1/holds", client.Params{})
	if err != nil {
		return "", "", nil, err
	}
	d := x.Decision()
	body := struct {
		document.Explanation
		Owner string
		About *decision.About
		// Users are the processes that use a folder, a sentence each.
		Users            []string
		State, Different string
		Due              time.Time
		Hold             *snapshot.Hold
	}{Explanation: x, Owner: ownerName(d.Owner, looked), About: d.About, State: stateOf(d),
		Different: report.PlainCounterfactual(x.WouldChange)}
	lasts := func(h snapshot.Hold) bool { return h.ID == id && (h.Until == nil || !h.Until.Before(time.Now())) }
	if i := slices.IndexFunc(holds, lasts); i >= 0 {
		body.Hold = &holds[i]
	}
	if x.Subject != nil && x.Subject.Dir != nil {
		body.Users = text.Map(x.Subject.Dir.Holders, func(h snapshot.Holder) string {
			return fmt.Sprintf("%s (%d) %s", h.Name, h.PID, cmp.Or(render.HoldsBy[h.How], "uses it"))
		})
	}
	if body.State == waits {
		body.Due, _ = report.Due(d, x.TakenAt)
	}
	return report.Label(d), "candidate", body, nil
}

// act is an act as a page shows it.
type act struct {
	document.Act
	Label, Outcome, Detail string
	// Back is true where it can be brought back.
	Back bool
}

func actOf(x document.Act) act {
	a := act{Act: x, Label: report.Label(decision.Decision{ID: x.Intent.Candidate, Kind: x.Intent.Kind, Label: x.Intent.Label}),
		Outcome: "open", Detail: "cut short; the next sweep that acts finds out how it went"}
	if x.Outcome != nil {
		a.Outcome = x.Outcome.Outcome
		a.Detail, _, _ = strings.Cut(report.Aside(decision.Act{ID: x.Intent.ID, Outcome: *x.Outcome}), "; winnow restore ")
		a.Back = x.Outcome.RestoreUntil != nil && x.RestoredAt == nil && x.PurgedAt == nil
	}
	return a
}

// acts is what sweeps did.
func (s *Server) acts(r *http.Request, _ *report.Report) (string, string, any, error) {
	days := 7
	if n, err := strconv.Atoi(r.URL.Query().Get("days")); err == nil && n > 0 && n <= 3650 {
		days = n
	}
	done, err := read[document.History](r.Context(), s, "/v1/history", client.Params{Since: fmt.Sprintf("%dd", days)})
	if err != nil {
		return "", "", nil, err
	}
	body := struct {
		Days   int
		Choice []int
		Acts   []act
		// Sums are what the acts of each sweep came to, by its id, and below "" all of them.
		Sums   map[string]string
		Pager  pager
		Sweeps []document.Sweep
		Total  int
	}{Days: days, Choice: []int{1, 7, 30, 365}, Total: len(done.Sweeps), Sums: sums(done.Acts),
		Sweeps: done.Sweeps[:min(len(done.Sweeps), 20)]}
	body.Acts, body.Pager = paged(text.Map(done.Acts, actOf), r.URL, actsAPage)
	return "Acts", "acts", body, nil
}

// sums say by sweep how acts went, and how much those freed that were done and not brought back; below "" of all acts.
func sums(acts []document.Act) map[string]string {
	by, out := map[string][]document.Act{}, map[string]string{}
	for _, x := range acts {
		by[x.Intent.Sweep], by[""] = append(by[x.Intent.Sweep], x), append(by[""], x)
	}
	for sweep, acts := range by {
		outcomes, bytes, memory := map[string]int{}, int64(0), int64(0)
		for _, x := range acts {
			a := actOf(x)
			outcomes[a.Outcome]++
			if a.Outcome == decision.Done && x.RestoredAt == nil {
				bytes, memory = bytes+x.Outcome.Freed.Bytes, memory+x.Outcome.Freed.RSS
			}
		}
		words := func(outcome string) string { return fmt.Sprint(outcomes[outcome], " ", outcome) }
		parts := text.Map(slices.Sorted(maps.Keys(outcomes)), words)
		out[sweep] = strings.TrimSuffix(strings.Join(append(parts, freeText(bytes, memory)), ", "), ", ")
	}
	return out
}

// freeText says how much of disk and of memory, "" where it is nothing.
func freeText(bytes, memory int64) string {
	var parts []string
	if bytes > 0 {
		parts = append(parts, text.Size(bytes)+" of disk")
	}
	if memory > 0 {
		parts = append(parts, text.Size(memory)+" of memory")
	}
	return strings.Join(parts, " and ")
}

// lying is an act that has something in the trash.
type lying struct {
	act
	Bytes *int64
	// Gone is true where it is only the entry of a worktree whose folder was gone.
	Gone bool
}

// heap is what lies in the trash, and in words how much that is.
type heap struct {
	Acts  []lying
	Total string
}

func heapOf(kept []document.SetAside) heap {
	h := heap{Acts: []lying{}, Total: render.TrashTotal(kept)}
	for _, k := range kept {
		d := k.Intent.Identity.Dir
		h.Acts = append(h.Acts, lying{actOf(k.Act), k.Bytes, d != nil && d.Gone})
	}
	return h
}

// trash shows what can be brought back.
func (s *Server) trash(r *http.Request, _ *report.Report) (string, string, any, error) {
	kept, err := read[[]document.SetAside](r.Context(), s, "/v1/trash", client.Params{})
	body := struct {
		heap
		Shown []lying
		Pager pager
	}{heap: heapOf(kept)}
	body.Shown, body.Pager = paged(body.Acts, r.URL, actsAPage)
	return "Trash", "trash", body, err
}

// purging asks whether something is to be removed for good. It names each act, and its form sends these and no others.
func (s *Server) purging(r *http.Request, _ *report.Report) (string, string, any, error) {
	kept, err := read[[]document.SetAside](r.Context(), s, "/v1/trash", client.Params{})
	if err != nil {
		return "", "", nil, err
	}
	q := r.URL.Query()
	if q.Get("all") == "" {
		kept = slices.DeleteFunc(kept, func(k document.SetAside) bool { return !slices.Contains(q["act"], k.Intent.ID) })
	}
	if len(kept) == 0 {
		return "", "", nil, missing{errors.New("this does not lie in the trash any more")}
	}
	left := max(0, len(kept)-purgeAtOnce)
	body := struct {
		heap
		Left int
	}{heapOf(kept[:len(kept)-left]), left}
	return "Remove for good?", "purging", body, nil
}

// alarms is what a person should look at.
func (s *Server) alarms(_ *http.Request, looked *report.Report) (string, string, any, error) {
	return "Alarms", "alarms", looked, nil
}

// policies is what decides, with the levels and how often each rule spoke.
func (s *Server) policies(r *http.Request, looked *report.Report) (string, string, any, error) {
	p, err := read[document.Policies](r.Context(), s, "/v1/policies", client.Params{})
	if err != nil {
		return "", "", nil, err
	}
	type rule struct {
		document.Rule
		Spoke int
	}
	spoke := map[string]int{}
	if looked != nil {
		for _, d := range looked.Decisions {
			rules := text.Map(slices.Concat(d.Findings, d.Objections), func(r decision.Reason) string { return r.Rule })
			slices.Sort(rules)
			for _, rule := range slices.Compact(rules) {
				spoke[rule]++
			}
		}
	}
	body := struct {
		document.Policies
		Reap, Keep []rule
	}{Policies: p}
	for _, x := range p.Rules {
		if one := (rule{x, spoke[x.ID]}); decision.Reaps(x.ID) {
			body.Reap = append(body.Reap, one)
		} else {
			body.Keep = append(body.Keep, one)
		}
	}
	return "Policies", "policies", body, nil
}

// CapWords is a cap in a sentence.
func (f frame) CapWords(c decision.Cap) string {
	if c.Stops {
		return fmt.Sprintf("None of %s goes by itself: %s. Look at each of them.", report.Things(c.Held, c.Kind), c.Why)
	}
	by := map[bool]string{true: " of one owner"}[c.Cap == decision.CapPerOwner]
	const wait = "%d of %s wait: at most %g acts%s a sweep. The next sweeps do the others."
	return fmt.Sprintf(wait, c.Held, report.Things(c.Wanted, c.Kind), c.Limit, by)
}
