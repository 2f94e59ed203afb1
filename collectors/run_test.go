package collectors_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/winnow-reaper/winnow/collectors"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/test/kit/must"
)

// reader is a Reader made of a function.
type reader func(ctx context.Context) (collectors.Part, error)

func (r reader) Read(ctx context.Context) (collectors.Part, error) { return r(ctx) }

func source(name string, r reader) collectors.Source {
	return collectors.Source{Name: name, Kind: strings.Split(name, "/")[0], Path: "/at/" + name, Reader: r}
}

func gives(p collectors.Part) reader {
	return func(context.Context) (collectors.Part, error) { return p, nil }
}

func fails(err error) reader {
	return func(context.Context) (collectors.Part, error) { return collectors.Part{}, err }
}

func dirs(source string, paths ...string) map[string]snapshot.Dir {
	m := map[string]snapshot.Dir{}
	for _, p := range paths {
		m["dir:"+p] = snapshot.Dir{Source: source, Name: p, Path: p}
	}
	return m
}

// statuses gives each source's status, with its cause where it has one.
func statuses(s *snapshot.Snapshot) map[string]string {
	got := map[string]string{}
	for name, src := range s.Sources {
		got[name] = strings.TrimSpace(src.Status + " " + src.Cause)
	}
	return got
}

func TestOneSourceNeverTouchesTheRest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		defer close(release)
		snap := collectors.Run(t.Context(), collectors.RunOptions{
			Timeout: 10 * time.Second,
			Sources: []collectors.Source{
				source("dirs/good", gives(collectors.Part{Dirs: dirs("dirs/good", "/w/a", "/w/b"), Unreadable: 3})),
				source("spawns/good", gives(collectors.Part{Spawns: []snapshot.Spawn{{Source: "spawns/good", Path: "/w/a"}}})),
				source("tmux/broken", fails(errors.New("list panes: unexpected\n line"))),
				source("tmux/none", fails(fmt.Errorf("connect: %w", collectors.ErrAbsent))),
				source("tmux/denied", fails(fmt.Errorf("connect: %w", collectors.ErrPermission))),
				source("dirs/denied", fails(fmt.Errorf("open: %w", fs.ErrPermission))),
				source("dirs/panics", func(context.Context) (collectors.Part, error) { panic("index out of range") }),
				source("dirs/nil", nil),
				source("dirs/honest", func(ctx context.Context) (collectors.Part, error) {
					<-ctx.Done()
					return collectors.Part{Dirs: dirs("dirs/honest", "/w/c"), Partial: true}, ctx.Err()
				}),
				source("dirs/deaf", func(context.Context) (collectors.Part, error) {
					<-release
					return collectors.Part{Dirs: dirs("dirs/deaf", "/w/d")}, nil
				}),
			},
		})
		want := map[string]string{
			"dirs/good": "ok", "spawns/good": "ok", "tmux/broken": "failed error", "tmux/none": "absent",
			"tmux/denied": "failed permission", "dirs/denied": "failed permission", "dirs/panics": "failed error",
			"dirs/nil": "failed error", "dirs/honest": "failed timeout", "dirs/deaf": "failed timeout",
		}
		must.Equal(t, want, statuses(snap), "statuses")
		must.Equal(t, []string{"dir:/w/a", "dir:/w/b", "dir:/w/c"}, slices.Sorted(maps.Keys(snap.Dirs)), "dirs")
		good := snap.Sources["dirs/good"]
		must.Equal(t, snapshot.Source{Kind: "dirs", Status: "ok", Path: "/at/dirs/good", Seen: 2, Unreadable: 3}, good, "dirs/good")
		if got := snap.Sources["dirs/deaf"]; got.Took < 10 || got.Took > 11 || got.Seen != 0 {
			t.Errorf("dirs/deaf took %v and gave %d; want about 10 s and 0", got.Took, got.Seen)
		}
		for name, part := range map[string]string{
			"tmux/broken": "list panes: unexpected line",
			"dirs/panics": "panicked: index out of range",
			"dirs/deaf":   "raise collect.timeout",
			"tmux/denied": "run winnow as the user that owns it",
		} {
			if got := snap.Sources[name].Error; !strings.Contains(got, part) || strings.Contains(got, "\n") {
				t.Errorf("%s: error %q; want one line with %q", name, got, part)
			}
		}
	})
}

func TestTakenAtIsBeforeTheFirstReading(t *testing.T) {
	t.Parallel()
	zone := time.FixedZone("east", 3600)
	at := time.Date(2026, 3, 1, 12, 0, 0, 5, zone)
	var clock atomic.Int64
	now := func() time.Time { return at.Add(time.Duration(clock.Load())) }
	snap := collectors.Run(t.Context(), collectors.RunOptions{Now: now, Sources: []collectors.Source{
		source("dirs/a", func(context.Context) (collectors.Part, error) {
			clock.Add(int64(time.Hour))
			return collectors.Part{}, nil
		}),
	}})
	if d := cmp.Diff(at.UTC(), snap.TakenAt); d != "" || snap.TakenAt.Location() != time.UTC {
		t.Errorf("taken at %v; want %v in UTC", snap.TakenAt, at.UTC())
	}
	if snap.Schema != snapshot.Schema {
		t.Errorf("schema %q", snap.Schema)
	}
}

func TestReadersRunAtTheSameTimeEachUnderItsOwnTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		slow := func(ctx context.Context) (collectors.Part, error) {
			select {
			case <-time.After(3 * time.Second):
				return collectors.Part{}, nil
			case <-ctx.Done():
				return collectors.Part{}, ctx.Err()
			}
		}
		began := time.Now()
		o := collectors.RunOptions{Timeout: 4 * time.Second, Discover: func(string) []collectors.Source {
			return []collectors.Source{source("dirs/later", slow)}
		}}
		for i := range 20 {
			o.Sources = append(o.Sources, source(fmt.Sprintf("dirs/%d", i), slow))
		}
		o.Sources = append(o.Sources, source("spawns/names", func(ctx context.Context) (collectors.Part, error) {
			_, err := slow(ctx)
			return collectors.Part{Named: []string{"/w"}}, err
		}))
		snap := collectors.Run(t.Context(), o)
		for name, src := range snap.Sources {
			if src.Status != snapshot.OK {
				t.Errorf("%s: %s %s", name, src.Status, src.Error)
			}
		}
		if got := time.Since(began); got != 6*time.Second {
			t.Errorf("took %v; want 6s: 21 readers at once, then the one that was named", got)
		}
		if _, ok := snap.Sources["dirs/later"]; !ok {
			t.Error("the source that was named was not read")
		}
	})
}

func TestDiscoveryFollowsNamesOnceAndEnds(t *testing.T) {
	t.Parallel()
	var asked, read atomic.Int32
	o := collectors.RunOptions{}
	o.Discover = func(path string) []collectors.Source {
		asked.Add(1)
		// Every path leads to two repositories that name each other, and to the configured root.
		var found []collectors.Source
		for _, repo := range []string{"/r1", "/r2"} {
			found = append(found, source("dirs/"+repo, func(context.Context) (collectors.Part, error) {
				read.Add(1)
				return collectors.Part{Dirs: dirs("dirs/"+repo, repo), Named: []string{"/r1", "/r2", path}}, nil
			}))
		}
		return append(found, source("dirs/root", fails(errors.New("must not be started again"))))
	}
	o.Sources = []collectors.Source{
		source("dirs/root", gives(collectors.Part{Dirs: dirs("dirs/root", "/root")})),
		source("spawns/s", gives(collectors.Part{Named: []string{"/w/x", "/w/x", "/w/y"}})),
		source("registry/r", gives(collectors.Part{Named: []string{"/w/y"}})),
	}
	snap := collectors.Run(t.Context(), o)
	want := map[string]string{"dirs/root": "ok", "spawns/s": "ok", "registry/r": "ok", "dirs//r1": "ok", "dirs//r2": "ok"}
	must.Equal(t, want, statuses(snap), "statuses")
	if asked.Load() != 4 || read.Load() != 2 {
		t.Errorf("asked %d paths and read %d sources; want 4 and 2", asked.Load(), read.Load())
	}
}

// TestWhereSomethingWorksIsLookedAround has processes, panes and a search say where agents work: each place is asked about once, as what it is.
func TestWhereSomethingWorksIsLookedAround(t *testing.T) {
	t.Parallel()
	var asked []string
	o := collectors.RunOptions{
		Around: func(from, path string) []collectors.Source {
			asked = append(asked, from+" "+path)
			return []collectors.Source{source("dirs/"+path, gives(collectors.Part{Dirs: dirs("dirs/"+path, path)}))}
		},
		Searches: []collectors.Search{{Name: "x", From: "x", Find: func(context.Context) []string { return []string{"/x", "", "/x"} }}},
	}
	o.Sources = []collectors.Source{source("proc", gives(collectors.Part{
		Processes: map[string]*snapshot.Process{"process:1@1": {PID: 1, Cwd: new("/p")}, "process:2@1": {PID: 2, Cwd: new("/p")}, "process:3@1": {},
			"process:4@1": {Cwd: new("/gone"), CwdDeleted: new(true)}},
		Sessions:  map[string]snapshot.Session{"session:a": {Panes: []snapshot.Pane{{Cwd: "/s"}, {ShellPID: new(2)}, {ShellPID: new(9)}}}},
		Tabs:      map[string]snapshot.Tab{"tab:a": {Panes: []snapshot.Pane{{Cwd: "/t"}}}},
		Terminals: map[string]snapshot.Terminal{"terminal:a": {Cwd: "/c"}},
	}))}
	one := sync.Mutex{}
	around := o.Around
	o.Around = func(from, path string) []collectors.Source {
		one.Lock()
		defer one.Unlock()
		return around(from, path)
	}
	snap := collectors.Run(t.Context(), o)
	slices.Sort(asked)
	must.Equal(t, []string{"panes /c", "panes /p", "panes /s", "panes /t", "processes /p", "x /x"}, asked, "asked")
	must.Equal(t, []string{"dir:/c", "dir:/p", "dir:/s", "dir:/t", "dir:/x"}, slices.Sorted(maps.Keys(snap.Dirs)), "dirs")
}

func TestDiscoveryThatHangsOrPanicsIsAFailedSource(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		defer close(release)
		snap := collectors.Run(t.Context(), collectors.RunOptions{
			Discover: func(path string) []collectors.Source {
				if path == "/hangs" {
					<-release
				}
				panic("no such thing")
			},
			Sources: []collectors.Source{
				source("spawns/a", gives(collectors.Part{Named: []string{"/hangs"}})),
				source("spawns/b", gives(collectors.Part{Named: []string{"/panics"}})),
			},
		})
		want := map[string]string{"spawns/a": "ok", "spawns/b": "ok",
			"dirs/named by spawns/a": "failed timeout", "dirs/named by spawns/b": "failed error"}
		must.Equal(t, want, statuses(snap), "statuses")
	})
}

func TestTwoSourcesWithTheSameCandidate(t *testing.T) {
	t.Parallel()
	for range 20 {
		snap := collectors.Run(t.Context(), collectors.RunOptions{Sources: []collectors.Source{
			source("dirs/b", gives(collectors.Part{Dirs: dirs("dirs/b", "/w/1", "/w/2")})),
			source("dirs/a", gives(collectors.Part{Dirs: dirs("dirs/a", "/w/1")})),
		}})
		if got := snap.Dirs["dir:/w/1"].Source; got != "dirs/a" {
			t.Fatalf("kept %s's; want the one whose name sorts first", got)
		}
		a, b := snap.Sources["dirs/a"], snap.Sources["dirs/b"]
		if a.Duplicates != 0 || b.Duplicates != 1 || b.Seen != 2 {
			t.Fatalf("duplicates %d and %d, seen %d; want 0, 1, 2", a.Duplicates, b.Duplicates, b.Seen)
		}
	}
}

func TestTwoSourcesWithTheSameName(t *testing.T) {
	t.Parallel()
	snap := collectors.Run(t.Context(), collectors.RunOptions{Sources: []collectors.Source{
		source("spawns/s", gives(collectors.Part{Spawns: []snapshot.Spawn{{Path: "/first"}}})),
		source("spawns/s", gives(collectors.Part{Spawns: []snapshot.Spawn{{Path: "/second"}}})),
	}})
	must.Equal(t, map[string]string{"spawns/s": "ok", "spawns/s (second)": "failed error"}, statuses(snap), "statuses")
	if len(snap.Spawns) != 1 || snap.Spawns[0].Path != "/first" {
		t.Errorf("spawns %+v; want the first source's", snap.Spawns)
	}
}

func TestStoppedLookSaysSo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		snap := collectors.Run(ctx, collectors.RunOptions{Sources: []collectors.Source{
			source("dirs/a", func(ctx context.Context) (collectors.Part, error) { <-ctx.Done(); return collectors.Part{}, ctx.Err() }),
		}})
		if got := snap.Sources["dirs/a"]; got.Status != snapshot.Failed || !strings.Contains(got.Error, "stopped") {
			t.Errorf("got %+v; want failed, because the look was stopped", got)
		}
	})
}

func TestProgressNamesWhatIsBeingRead(t *testing.T) {
	t.Parallel()
	var seen [][]string
	collectors.Run(t.Context(), collectors.RunOptions{
		Progress: func(running []collectors.Running) {
			var names []string
			for _, r := range running {
				names = append(names, r.Name)
			}
			seen = append(seen, names)
		},
		Sources: []collectors.Source{source("dirs/b", gives(collectors.Part{})), source("dirs/a", gives(collectors.Part{}))},
	})
	if len(seen) != 4 {
		t.Fatalf("reported %d times; want 4", len(seen))
	}
	must.Equal(t, []string{"dirs/a", "dirs/b"}, seen[1], "after both started")
	if len(seen[3]) != 0 {
		t.Errorf("at the end %v is still running", seen[3])
	}
}

// TestManyItemsGetMoreTime has a source that says how much it has to read: its deadline moves, it is counted, and a source beside it is held to
// the plain timeout.
func TestManyItemsGetMoreTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var counts []string
		slow := func(items int) reader {
			return func(ctx context.Context) (collectors.Part, error) {
				dealt := collectors.Items(ctx, items)
				child, cancel := context.WithCancel(ctx)
				defer cancel()
				for range 300 {
					select {
					case <-child.Done():
						return collectors.Part{}, errors.Join(child.Err(), context.Cause(ctx))
					case <-time.After(100 * time.Millisecond):
						dealt()
					}
				}
				return collectors.Part{Dirs: dirs("dirs/x", "/w/a")}, nil
			}
		}
		snap := collectors.Run(t.Context(), collectors.RunOptions{
			Timeout: 10 * time.Second,
			Sources: []collectors.Source{source("dirs/many", slow(300)), source("dirs/few", slow(5)), source("dirs/none", slow(0))},
			Progress: func(running []collectors.Running) {
				for _, r := range running {
					done, all := r.Count()
					counts = append(counts, fmt.Sprintf("%s %d of %d", r.Name, done, all))
				}
			},
		})
		must.Equal(t, map[string]string{"dirs/many": "ok", "dirs/few": "failed timeout", "dirs/none": "failed timeout"}, statuses(snap), "statuses")
		if took := snap.Sources["dirs/few"].Took; took < 10.4 || took > 10.7 {
			t.Errorf("a source of 5 folders had %v s; want 10.5", took)
		}
		if !strings.Contains(snap.Sources["dirs/few"].Error, "longer than 10.5s") {
			t.Errorf("it does not say how long it may take: %s", snap.Sources["dirs/few"].Error)
		}
		if !slices.Contains(counts, "dirs/many 104 of 300") && !slices.Contains(counts, "dirs/many 105 of 300") {
			t.Errorf("progress does not count: %v", counts)
		}
	})
}

// A reader that is left behind goes on writing to what it will give; the race detector must have nothing to say.
func TestLateAnswerIsDroppedWithoutARace(t *testing.T) {
	t.Parallel()
	release, late := make(chan struct{}), make(chan struct{})
	snap := collectors.Run(t.Context(), collectors.RunOptions{
		Timeout: time.Millisecond,
		Sources: []collectors.Source{source("dirs/late", func(context.Context) (collectors.Part, error) {
			defer close(late)
			p := collectors.Part{Dirs: dirs("dirs/late", "/w/1")}
			<-release
			p.Dirs["dir:/w/2"] = snapshot.Dir{}
			return p, nil
		})},
	})
	close(release)
	<-late
	if len(snap.Dirs) != 0 || snap.Sources["dirs/late"].Cause != collectors.CauseTimeout {
		t.Errorf("got %d dirs, cause %q; want none, timeout", len(snap.Dirs), snap.Sources["dirs/late"].Cause)
	}
	if said := snap.Sources["dirs/late"].Error; !strings.HasPrefix(said, "it did not answer within 1ms; nothing that rests on it is reaped. See what holds it up") {
		t.Errorf("a reader that did not answer is said as %q", said)
	}
}

// BenchmarkRun is what gathering costs beside the reading itself, against calling the same readers one after the other.
func BenchmarkRun(b *testing.B) {
	part := collectors.Part{Dirs: map[string]snapshot.Dir{}}
	for i := range 1000 {
		p := fmt.Sprintf("/w/%d", i)
		part.Dirs["dir:"+p] = snapshot.Dir{Path: p}
	}
	var sources []collectors.Source
	for i := range 20 {
		sources = append(sources, source(fmt.Sprintf("dirs/%d", i), gives(part)))
	}
	b.Run("run", func(b *testing.B) {
		for b.Loop() {
			collectors.Run(b.Context(), collectors.RunOptions{Sources: sources})
		}
	})
	b.Run("loop", func(b *testing.B) {
		for b.Loop() {
			all := map[string]snapshot.Dir{}
			for _, s := range sources {
				p := must.Get(s.Reader.Read(b.Context()))(b)
				maps.Copy(all, p.Dirs)
			}
		}
	})
}

func TestWhatIsDearIsReadWhenAllElseWas(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		cheap := dirs("dirs/a", "/w/x", "/w/y")
		late := dirs("dirs/a", "/w/x")
		late["dir:/w/x"] = snapshot.Dir{Source: "dirs/a", Name: "/w/x", Path: "/w/x", Error: "looked into"}
		rest := func(context.Context) (collectors.Part, error) {
			time.Sleep(2 * time.Second)
			return collectors.Part{Dirs: late, Unreadable: 1}, nil
		}
		then, never := 0, make(chan struct{})
		s := collectors.Run(t.Context(), collectors.RunOptions{
			Sources: []collectors.Source{
				source("dirs/a", func(context.Context) (collectors.Part, error) {
					time.Sleep(time.Second)
					return collectors.Part{Dirs: cheap, Rest: rest}, nil
				}),
				source("dirs/b", gives(collectors.Part{Dirs: dirs("dirs/b", "/w/x", "/w/z")})),
				source("dirs/hangs", gives(collectors.Part{Dirs: dirs("dirs/hangs", "/w/h"), Rest: func(context.Context) (collectors.Part, error) {
					<-never
					return collectors.Part{}, nil
				}})),
				source("dirs/fails", gives(collectors.Part{Dirs: dirs("dirs/fails", "/w/f"), Rest: func(context.Context) (collectors.Part, error) {
					return collectors.Part{Dirs: dirs("dirs/fails", "/w/f"), Partial: true}, errors.New("git is gone")
				}})),
				source("processes/proc", func(context.Context) (collectors.Part, error) {
					time.Sleep(3 * time.Second)
					return collectors.Part{Processes: map[string]*snapshot.Process{"process:1@1": {PID: 1}}}, nil
				}),
			},
			Timeout: 5 * time.Second,
			Then: func(_ context.Context, s *snapshot.Snapshot) {
				then++
				if len(s.Processes) != 1 || len(s.Dirs) != 5 || s.Dirs["dir:/w/x"].Error != "" {
					t.Errorf("not all was read, or too much: %+v", s)
				}
				s.Host.User = "ann"
			},
		})
		close(never)
		synctest.Wait()
		if then != 1 || s.Host.User != "ann" {
			t.Errorf("Then was called %d times, and what it wrote is %+v", then, s.Host)
		}
		if got := slices.Sorted(maps.Keys(s.Dirs)); !slices.Equal(got, []string{"dir:/w/f", "dir:/w/x", "dir:/w/z"}) {
			t.Errorf("folders %v", got)
		}
		if s.Dirs["dir:/w/x"].Error != "looked into" || s.Sources["dirs/b"].Duplicates != 1 {
			t.Errorf("the second reading does not stand: %+v", s.Dirs["dir:/w/x"])
		}
		want := map[string]string{"dirs/a": "ok", "dirs/b": "ok", "dirs/fails": "failed error", "dirs/hangs": "failed timeout", "processes/proc": "ok"}
		if diff := cmp.Diff(want, statuses(s)); diff != "" {
			t.Error(diff)
		}
		if a := s.Sources["dirs/a"]; a.Seen != 1 || a.Unreadable != 1 || a.Took != 3 {
			t.Errorf("dirs/a: %+v", a)
		}
	})
}
