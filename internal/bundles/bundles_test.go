package bundles

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/winnow-reaper/winnow/engine/bundle"
	"github.com/winnow-reaper/winnow/engine/policy"
	"github.com/winnow-reaper/winnow/test/kit/must"
	"github.com/winnow-reaper/winnow/test/kit/wait"
)

// made is a bundle with a rule of that name.
func made(t *testing.T, name string, serial int64) []byte {
	t.Helper()
	tree := policy.Tree{Name: "t", FS: fstest.MapFS{"lib/x/x.rego": {Data: []byte("package policies.lib.x\n\n" + name + " := 1\n")}}}
	data, _, err := bundle.Build(t.Context(), bundle.BuildOptions{Tree: tree, Revision: name, Serial: serial})
	must.Do(t, err)
	return data
}

var polling = Polling{Max: time.Hour, Timeout: wait.Patience}

func find(t *testing.T, state string, s Source, p Polling, l Look) *Found {
	t.Helper()
	return must.Get(Find(t.Context(), state, s, p, l))(t)
}

// running is the bundle that is used, kept as a sweep keeps it.
func running(t *testing.T, state string, f *Found) string {
	t.Helper()
	b := f.Last
	if f.New != nil {
		b = f.New
	}
	must.Do(t, f.Keep(t.Context(), state, b))
	if b == nil {
		return ""
	}
	return b.Revision
}

func TestWhatIsOlderDoesNotComeBack(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		// each has what is published, by name and serial, and what runs then.
		published []string
		runs      []string
	}{
		{"serials that grow", []string{"a 1", "b 2", "c 9"}, []string{"a", "b", "c"}},
		{"a smaller serial", []string{"a 5", "b 4", "c 6"}, []string{"a", "a", "c"}},
		{"the same serial with other content", []string{"a 5", "b 5", "a 5"}, []string{"a", "a", "a"}},
		{"a serial that is missing", []string{"a 5", "b 0"}, []string{"a", "a"}},
		{"the first serial", []string{"a 0", "b 3", "a 0"}, []string{"a", "b", "b"}},
		{"no serials: what ran before", []string{"a 0", "b 0", "a 0", "c 0", "b 0", "a 0"}, []string{"a", "b", "b", "c", "c", "c"}},
		{"the same again", []string{"a 0", "a 0", "b 0", "b 0"}, []string{"a", "a", "b", "b"}},
		{"older rules with a greater serial", []string{"a 1", "b 2", "a 3"}, []string{"a", "b", "a"}},
	} {
		state, file := t.TempDir(), filepath.Join(t.TempDir(), "b.tar.gz")
		var got []string
		for _, p := range c.published {
			var name string
			var serial int64
			must.Get(fmt.Sscan(p, &name, &serial))(t)
			must.Do(t, os.WriteFile(file, made(t, name, serial), 0o600))
			f := find(t, state, Source{Name: "n", From: file}, polling, Look{Ask: true})
			got = append(got, running(t, state, f))
			s := f.Status(cmp.Or(f.New, f.Last))
			if runs := s.Problem == ""; runs != (got[len(got)-1] == name) {
				t.Errorf("%s: %s: problem %q", c.name, p, s.Problem)
			}
		}
		if !slices.Equal(got, c.runs) {
			t.Errorf("%s: want %q to run, got %q", c.name, c.runs, got)
		}
	}
}

func TestTheCopyIsForThisUserAloneAndTheOnlyOne(t *testing.T) {
	t.Parallel()
	state, file := t.TempDir(), filepath.Join(t.TempDir(), "b.tar.gz")
	for serial, name := range []string{"a", "b"} {
		must.Do(t, os.WriteFile(file, made(t, name, int64(serial+1)), 0o644))
		running(t, state, find(t, state, Source{Name: "n", From: file}, polling, Look{Ask: true}))
	}
	entries := must.Get(os.ReadDir(filepath.Join(state, "n")))(t)
	if len(entries) != 2 {
		t.Errorf("want the memory and one copy, got %v", entries)
	}
	for _, e := range entries {
		if info := must.Get(e.Info())(t); info.Mode() != 0o600 {
			t.Errorf("%s has mode %v", e.Name(), info.Mode())
		}
	}
}

// TestAServerThatFailsIsLeftAloneForLonger counts what a server is asked.
func TestAServerThatFailsIsLeftAloneForLonger(t *testing.T) {
	t.Parallel()
	asked, fails := 0, true
	data := made(t, "a", 1)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		if fails {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		w.Header().Set("ETag", `"1"`)
		_, _ = w.Write(data)
	}))
	t.Cleanup(s.Close)
	state, src := t.TempDir(), Source{Name: "n", From: s.URL}
	p := Polling{Min: time.Minute, Max: 10 * time.Minute, Timeout: wait.Patience}
	f := find(t, state, src, p, Look{})
	if asked != 0 || f.Nothing() == nil {
		t.Errorf("it was asked %d times without being told to", asked)
	}
	for n := 1; n <= 8; n++ {
		f := find(t, state, src, p, Look{Ask: true, Now: true})
		wait, want := time.Until(f.memory.RetryAt), min(p.Min<<(n-1), p.Max)
		if asked != n || f.memory.Failures != n || wait > want+time.Second || wait < want/2-time.Minute/2 || !strings.Contains(f.memory.Problem, "503") {
			t.Errorf("failure %d: asked %d times, again in %s, problem %q", n, asked, wait, f.memory.Problem)
		}
		running(t, state, f)
	}
	since := find(t, state, src, p, Look{Ask: true}).memory.FailingSince
	if asked != 8 || since.IsZero() {
		t.Errorf("it was asked %d times; failing since %s", asked, since)
	}
	fails = false
	f = find(t, state, src, p, Look{Ask: true, Now: true})
	if got := running(t, state, f); got != "a" || f.memory.Failures != 0 || !f.memory.FailingSince.IsZero() || f.memory.Problem != "" {
		t.Errorf("it answers: %q runs, %+v", got, f.memory)
	}
	if find(t, state, src, p, Look{Ask: true}); asked != 9 {
		t.Errorf("it was asked again within the least time: %d times", asked)
	}
	// A clock that was set back does not silence it for ever.
	f.memory.RetryAt, f.memory.Failures = time.Now().Add(24*time.Hour), 3
	running(t, state, f)
	if find(t, state, src, p, Look{Ask: true}); asked != 10 {
		t.Errorf("it was not asked after the clock was set back: %d times", asked)
	}
}

// TestAnotherServerIsNotSentTheTagOfTheFirst holds that a tag means something to its own server only.
func TestAnotherServerIsNotSentTheTagOfTheFirst(t *testing.T) {
	t.Parallel()
	var tags []string
	serve := func(data []byte) string {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			tags = append(tags, r.Header.Get("If-None-Match"))
			w.Header().Set("ETag", `"1"`)
			_, _ = w.Write(data)
		}))
		t.Cleanup(s.Close)
		return s.URL
	}
	one, two, state := serve(made(t, "a", 1)), serve(made(t, "b", 2)), t.TempDir()
	for _, from := range []string{one, one, two, two} {
		running(t, state, find(t, state, Source{Name: "n", From: from}, polling, Look{Ask: true}))
	}
	if want := []string{"", `"1"`, "", `"1"`}; !slices.Equal(tags, want) {
		t.Errorf("tags %q, want %q", tags, want)
	}
}

func TestARejectedBundleDoesNotRun(t *testing.T) {
	t.Parallel()
	state, file := t.TempDir(), filepath.Join(t.TempDir(), "b.tar.gz")
	for serial, name := range []string{"a", "b"} {
		must.Do(t, os.WriteFile(file, made(t, name, int64(serial+1)), 0o600))
		f := find(t, state, Source{Name: "n", From: file}, polling, Look{Ask: true})
		if name == "b" {
			f.Reject(errors.New("it does not load"))
		}
		if got := running(t, state, f); got != "a" {
			t.Errorf("%s: %q runs", name, got)
		}
	}
	f := find(t, state, Source{Name: "n", From: filepath.Join(t.TempDir(), "none")}, polling, Look{})
	if st := f.Status(f.Last); st.Revision != "a" || st.Problem == "" || st.ActivatedAt.IsZero() {
		t.Errorf("got %+v", st)
	}
}
