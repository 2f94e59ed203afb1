package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/winnow-reaper/winnow/client"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/config"
	"github.com/winnow-reaper/winnow/internal/ledger"
	"github.com/winnow-reaper/winnow/internal/localapi"
	"github.com/winnow-reaper/winnow/internal/ops"
	"github.com/winnow-reaper/winnow/internal/pace"
	"github.com/winnow-reaper/winnow/test/kit/files"
	musts "github.com/winnow-reaper/winnow/test/kit/must"
	"github.com/winnow-reaper/winnow/test/kit/stage"
	"github.com/winnow-reaper/winnow/test/kit/wait"
)

// answeringWorld is a daemon within the test that answers at a socket.
func answeringWorld(t *testing.T, seed uint64) (w *steadyWorld, s *localapi.Server, socket string) {
	w = newSteadyWorld(t, seed)
	socket = filepath.Join(w.dir, "api.sock")
	s = localapi.New(w.d)
	t.Cleanup(musts.Get(s.Serve(t.Context(), socket))(t))
	return w, s, socket
}

// TestSweepsUnderRequests: while clients ask everything, do not read, or send half a request, sweeps and reloads go on. With -race it shows that they share nothing by mistake.
func TestSweepsUnderRequests(t *testing.T) {
	stage.NeedSecond(t, "hundreds of requests at once")
	t.Parallel()
	w, _, socket := answeringWorld(t, 200)
	first := w.sweep(pace.Start)
	w.d.Swept(t.Context(), pace.Start, time.Now(), first, nil)
	for i := range 40 { // those that hang: half of them in the head, half in the body, and some after it
		c := musts.Get(net.Dial("unix", socket))(t)
		defer c.Close()
		_, _ = io.WriteString(c, []string{"GET /v1/sta", "POST /v1/holds HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{", "GET /v1/events HTTP/1.1\r\nHost: x\r\n\r\n"}[i%3])
	}
	ctx, stop := context.WithCancel(wait.Within(t, 4*wait.Patience))
	var all sync.WaitGroup
	asks := []func(*client.Client) error{
		func(c *client.Client) error { _, err := c.State(ctx); return err },
		func(c *client.Client) error { _, err := c.Explain(ctx, "dir:"+w.worktree); return err },
		func(c *client.Client) error { _, err := c.WhyAlive(ctx, w.worktree, ""); return err },
		func(c *client.Client) error { _, err := c.Report(ctx); return err },
		func(c *client.Client) error {
			l, err := c.Lease(ctx, w.worktree, "a build")
			if err != nil {
				return err
			}
			_ = l.Close() // what it was ended by
			return nil
		},
	}
	for path, p := range map[string]client.Params{"look": {}, "explain": {Candidate: "dir:" + w.worktree, Latest: true}, "history": {}, "trash": {}, "policies": {}} {
		asks = append(asks, func(c *client.Client) error {
			res, err := c.Request(ctx, http.MethodGet, "/v1/"+path, p)
			if err != nil {
				return err
			}
			defer res.Body.Close()
			if body, err := io.ReadAll(res.Body); err == nil && res.StatusCode != http.StatusOK {
				return fmt.Errorf("%s: %s", path, body)
			}
			return nil
		})
	}
	answered := make([]int, len(asks))
	for i, ask := range asks {
		all.Go(func() {
			c := client.New(socket)
			defer c.Close()
			for ctx.Err() == nil {
				if err := ask(c); err != nil && ctx.Err() == nil {
					t.Errorf("request %d: %v", i, err)
					return
				}
				answered[i]++
			}
		})
	}
	for range 4 {
		cfg := musts.Get(config.Load(w.config, []string{"HOME=" + w.dir}))(t)
		musts.Do(t, w.d.Load(t.Context(), cfg))
		began := time.Now()
		r := w.sweep(pace.Request)
		w.d.Swept(t.Context(), pace.Request, began, r, nil)
	}
	stop()
	all.Wait()
	for i, n := range answered {
		if n == 0 {
			t.Errorf("request %d was never answered", i)
		}
	}
	c := client.New(socket)
	defer c.Close()
	wait.Eventually(t, "all leases are over", func() bool {
		holds, err := c.Holds(t.Context())
		return err == nil && len(holds) == 0
	})
}

// TestALeaseThatIsGivenUpLeavesNoHold: who asks for a lease and goes at any moment, also while the hold is being placed, leaves nothing behind.
func TestALeaseThatIsGivenUpLeavesNoHold(t *testing.T) {
	t.Parallel()
	w, _, socket := answeringWorld(t, 204)
	c := client.New(socket)
	defer c.Close()
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 60 {
				ctx, cancel := context.WithTimeout(t.Context(), rand.N(12*time.Millisecond))
				if l, err := c.Lease(ctx, w.worktree, "a build"); err == nil {
					_ = l.Close()
				}
				cancel()
			}
		})
	}
	all.Wait()
	wait.Eventually(t, "no hold is left", func() bool {
		holds, err := c.Holds(t.Context())
		return err == nil && len(holds) == 0
	})
}

// TestWhoDoesNotReadKeepsNobodyWaiting: the turn to look at the machine is over before the answer is written.
func TestWhoDoesNotReadKeepsNobodyWaiting(t *testing.T) {
	t.Parallel()
	w := newSteadyWorld(t, 201)
	s := localapi.New(w.d)
	large := strings.Repeat("x", 8<<20)
	socket := filepath.Join(w.dir, "large.sock")
	l := musts.Get(net.Listen("unix", socket))(t)
	mux := http.NewServeMux()
	mux.Handle("GET /v1/why-alive", s.Answer(localapi.Operation{Looks: true, Do: func(_ context.Context, _ *ops.Ops, w client.Params) (any, error) {
		if w.What == "large" {
			return large, nil
		}
		return "small", nil
	}}))
	srv := &http.Server{ReadHeaderTimeout: time.Second, Handler: mux}
	go func() { _ = srv.Serve(l) }()
	t.Cleanup(func() { _ = srv.Close() })
	for range 2 * localapi.MaxLooks {
		c := musts.Get(net.Dial("unix", socket))(t)
		defer c.Close()
		_, _ = io.WriteString(c, "GET /v1/why-alive?what=large HTTP/1.1\r\nHost: x\r\n\r\n")
		_ = c.SetReadDeadline(time.Now().Add(wait.Patience))
		if _, err := io.ReadFull(c, make([]byte, 12)); err != nil { // it is being answered
			t.Fatal(err)
		}
	}
	c := client.New(socket)
	defer c.Close()
	res := musts.Get(c.Do(wait.Within(t, wait.Patience), http.MethodGet, "/v1/why-alive", nil, nil))(t)
	defer res.Body.Close()
	if got := string(musts.Get(io.ReadAll(res.Body))(t)); got != "\"small\"\n" {
		t.Errorf("got %.40q", got)
	}
}

// TestAnotherConfigurationIsRefused: who decides by another one is answered nothing.
func TestAnotherConfigurationIsRefused(t *testing.T) {
	t.Parallel()
	_, _, socket := answeringWorld(t, 202)
	c := client.New(socket)
	defer c.Close()
	c.Header = http.Header{localapi.HeaderConfig: {"another"}}
	var no *client.Error
	if _, err := c.State(t.Context()); !errors.As(err, &no) || no.Status != http.StatusPreconditionFailed {
		t.Error(err)
	}
}

// never says of a lease that it is not to be told again.
func never() bool { return false }

// TestALeaseThatAPersonReleases is over, and is not placed again.
func TestALeaseThatAPersonReleases(t *testing.T) {
	t.Parallel()
	w, s, _ := answeringWorld(t, 203)
	h := snapshot.Hold{ID: "dir:" + w.worktree, Owner: localapi.LeaseOwner + "1", Reason: "a build", Since: time.Now().UTC()}
	looked := make(chan time.Time, 4)
	holds := func() []snapshot.Hold {
		t.Helper()
		var all []snapshot.Hold
		musts.Do(t, s.Leases.InFile(func(g *ledger.Grants) (err error) {
			all, err = g.Leases(t.Context())
			return err
		}))
		return all
	}
	musts.Do(t, s.Leases.Put(t.Context(), &h))

	// As after a suspension: its time is over, and it is put off at the next look at the clock.
	past := time.Now().UTC().Add(-time.Hour).Round(0)
	h.Until = &past
	looked <- time.Now()
	if !s.Leases.Last(t.Context(), &h, looked, never) || time.Until(*h.Until) < localapi.LeaseLasts/2 {
		t.Errorf("it was not put off: %v", h.Until)
	}
	if all := holds(); len(all) != 1 || !all[0].Until.Equal(*h.Until) {
		t.Errorf("the ledger has %+v", all)
	}

	// One that has just been put off is told again to who reads again.
	until := *h.Until
	looked <- time.Now()
	if !s.Leases.Last(t.Context(), &h, looked, func() bool { return true }) || !h.Until.Equal(until) {
		t.Errorf("it is not told again, or was put off: %v", h.Until)
	}

	musts.Do(t, s.Leases.InFile(func(g *ledger.Grants) error { _, err := g.Release(t.Context(), h.ID, ""); return err }))
	h.Until = &past
	looked <- time.Now()
	if s.Leases.Last(t.Context(), &h, looked, never) || len(holds()) != 0 {
		t.Errorf("it goes on: %+v", holds())
	}
}

// TestALeaseThatCannotBePutOff ends when its hold does, so that no program believes in it.
func TestALeaseThatCannotBePutOff(t *testing.T) {
	t.Parallel()
	w, s, _ := answeringWorld(t, 204)
	h := snapshot.Hold{ID: "dir:" + w.worktree, Owner: localapi.LeaseOwner + "1", Reason: "a build", Since: time.Now().UTC()}
	musts.Do(t, s.Leases.Put(t.Context(), &h))
	file := filepath.Join(w.d.Acting.Folder(), "grants.db")
	musts.Do(t, os.Rename(file, file+".away"))
	musts.Do(t, os.RemoveAll(file+"-wal"))
	files.Write(t, file, "no leases")
	soon := time.Now().UTC().Add(20 * time.Millisecond).Round(0)
	h.Until = &soon
	looked := make(chan time.Time)
	over := make(chan bool, 1)
	patience := time.After(wait.Patience)
	go func() { over <- s.Leases.Last(t.Context(), &h, looked, never) }()
	for {
		select {
		case looked <- time.Now():
		case goesOn := <-over:
			if goesOn || time.Now().Before(soon) {
				t.Errorf("goes on: %v, at %s of its end %s", goesOn, time.Now(), soon)
			}
			return
		case <-patience:
			t.Fatal("it does not end")
		}
	}
}

// TestALeaseOfWhoDoesNotRead lasts: a program that is stopped, or that reads the first line and no more, has its lease until the connection ends.
func TestALeaseOfWhoDoesNotRead(t *testing.T) {
	t.Parallel()
	w := newSteadyWorld(t, 206)
	socket := filepath.Join(w.dir, "api.sock")
	s := localapi.New(w.d)
	s.Leases.Renewed, s.Leases.Looked = 0, time.Millisecond // a line each time: what comes in hours comes in seconds
	t.Cleanup(musts.Get(s.Serve(t.Context(), socket))(t))
	c := musts.Get(net.Dial("unix", socket))(t)
	defer c.Close()
	long := strings.Repeat("/"+strings.Repeat("a", 199), 18) // so that few lines fill the connection
	body := `{"candidate":"` + w.worktree + long + `","reason":"a build"}`
	fmt.Fprintf(c, "POST /v1/leases HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	until := func() (until time.Time) {
		s.Leases.Mu.Lock()
		defer s.Leases.Mu.Unlock()
		for h := range s.Leases.Open {
			until = *h.Until
		}
		return until
	}
	wait.Eventually(t, "the lease", func() bool { return !until().IsZero() })
	unread := func() (n int) {
		raw := musts.Get(c.(*net.UnixConn).SyscallConn())(t)
		musts.Do(t, raw.Control(func(fd uintptr) { n, _ = unix.IoctlGetInt(int(fd), unix.TIOCINQ) }))
		return n
	}
	had, since := 0, time.Time{}
	if !wait.Until(3*wait.Patience, func() bool {
		n, now := unread(), until()
		if n != had || now.IsZero() {
			had, since = n, now
			return false
		}
		return n > 0 && now.Sub(since) > time.Second
	}) {
		t.Fatalf("%d bytes wait for who does not read; the lease is not put off any more, from %s", had, since)
	}
	_ = c.Close()
	wait.Eventually(t, "the lease is over with its connection", func() bool { return until().IsZero() })
}

// TestManyLeasesAtOnce are all placed, put off and lifted, by few openings of the ledger.
func TestManyLeasesAtOnce(t *testing.T) {
	t.Parallel()
	w := newSteadyWorld(t, 207)
	socket := filepath.Join(w.dir, "api.sock")
	s := localapi.New(w.d)
	s.Leases.Renewed, s.Leases.Looked = 3*time.Second, 100*time.Millisecond
	t.Cleanup(musts.Get(s.Serve(t.Context(), socket))(t))
	const many = 60
	if n := localapi.MaxConnections(); n < many+2 {
		t.Skipf("this process may have only %d connections", n)
	}
	c := client.New(socket)
	defer c.Close()
	ctx := wait.Within(t, 3*wait.Patience)
	var all sync.WaitGroup
	var mu sync.Mutex
	var got []*client.Lease
	for i := range many {
		all.Go(func() {
			l, err := c.Lease(ctx, fmt.Sprintf("%s/%d", w.worktree, i), "a build")
			if err != nil {
				t.Errorf("lease %d: %v", i, err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			got = append(got, l)
		})
	}
	all.Wait()
	ends := func() (first, last time.Time, n int) {
		s.Leases.Mu.Lock()
		defer s.Leases.Mu.Unlock()
		for h := range s.Leases.Open {
			if first.IsZero() || h.Until.Before(first) {
				first = *h.Until
			}
			if h.Until.After(last) {
				last = *h.Until
			}
		}
		return first, last, len(s.Leases.Open)
	}
	first, _, n := ends()
	if n != many || len(got) != many {
		t.Fatalf("%d leases, %d are open; want %d", len(got), n, many)
	}
	var last time.Time
	wait.Eventually(t, "all are put off, and together", func() bool {
		var now time.Time
		now, last, _ = ends()
		return now.After(first) && now.Equal(last)
	})
	for _, h := range musts.Get(c.Holds(ctx))(t) {
		if n--; h.Until.Before(last) {
			t.Errorf("the ledger has %s for the end of %s; it was put off to %s", h.Until, h.ID, last)
		}
	}
	if n != 0 {
		t.Errorf("%d leases more than holds", n)
	}
	for _, l := range got {
		all.Go(func() { _ = l.Close() }) // what it was ended by
	}
	all.Wait()
	wait.Eventually(t, "all are over", func() bool { _, _, n := ends(); return n == 0 })
	if holds := musts.Get(c.Holds(ctx))(t); len(holds) != 0 {
		t.Errorf("still held: %+v", holds)
	}
}

// TestLeasesOfADaemonThatEnded are cleared away by another one's lease, once their time is long over.
func TestLeasesOfADaemonThatEnded(t *testing.T) {
	t.Parallel()
	w, s, _ := answeringWorld(t, 205)
	past := time.Now().UTC().Add(-2 * localapi.LeaseLasts)
	musts.Do(t, s.Leases.InFile(func(g *ledger.Grants) error {
		return g.Lease(t.Context(), snapshot.Hold{ID: "dir:/a", Owner: localapi.LeaseOwner + "old", Reason: "x", Since: past, Until: &past})
	}))
	owners := func() (out string) {
		musts.Do(t, s.Leases.InFile(func(g *ledger.Grants) error {
			all, err := g.Leases(t.Context())
			for _, h := range all {
				out += h.Owner + ", "
			}
			return err
		}))
		return out
	}
	put := func(id string) {
		t.Helper()
		musts.Do(t, s.Leases.Put(t.Context(), &snapshot.Hold{ID: "dir:" + w.worktree, Owner: localapi.LeaseOwner + id, Reason: "a build", Since: time.Now().UTC()}))
	}
	// After a suspension every lease has lapsed until its daemon puts it off.
	put("new")
	if got := owners(); !strings.Contains(got, "old") || !strings.Contains(got, "new") {
		t.Errorf("held by %s", got)
	}
	s.Leases.Lasts = 0
	put("newer")
	if got := owners(); strings.Contains(got, "old") || !strings.Contains(got, "new, ") || !strings.Contains(got, "newer") {
		t.Errorf("held by %s", got)
	}
}

// TestADaemonThatHangsWhileItIsAsked: what only reads is done by the command itself then; what may have been done is said to be unknown.
func TestADaemonThatHangsWhileItIsAsked(t *testing.T) {
	t.Parallel()
	w := newSteadyWorld(t, 206)
	socket := w.d.Now().Cfg.APISocket()
	musts.Do(t, os.MkdirAll(filepath.Dir(socket), 0o700))
	l := musts.Get(net.Listen("unix", socket))(t)
	var mu sync.Mutex
	alive := map[string]int{}
	hangs := make(chan struct{})
	srv := &http.Server{ReadHeaderTimeout: time.Second, Handler: http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		mu.Lock()
		alive[r.URL.Path]++
		first := r.URL.Path == "/v1/alive" && alive[r.URL.Path]%2 == 1
		mu.Unlock()
		if first { // it lives when it is asked, and hangs from then on
			out.WriteHeader(http.StatusNoContent)
			return
		}
		<-hangs
	})}
	go func() { _ = srv.Serve(l) }()
	t.Cleanup(func() { close(hangs); _ = srv.Close() })
	x := app{Ops: *w.d.Now()}
	ctx := wait.Within(t, wait.Patience)
	var out any
	if err := localapi.Ask(ctx, &x.Folder, http.MethodGet, "/v1/holds", client.Params{}, &out); !errors.Is(err, localapi.ErrNoDaemon) {
		t.Errorf("a question: %v", err)
	}
	// Where the machine is busy it may not be asked in time whether it lives; nothing was sent then.
	wait.Eventually(t, "a change whose end is not known", func() bool {
		err := localapi.Ask(ctx, &x.Folder, http.MethodPost, "/v1/pause", client.Params{}, &out)
		if err == nil || !strings.Contains(err.Error(), "did not say whether it was done") && !strings.Contains(err.Error(), "was not asked") {
			t.Fatalf("a change: %v", err)
		}
		return !errors.Is(err, localapi.ErrNoDaemon) && strings.Contains(err.Error(), "did not say whether it was done")
	})
}

// TestCommandsFindTheRepositoryThatTheyAreIn by the daemon too, which runs elsewhere.
func TestCommandsFindTheRepositoryThatTheyAreIn(t *testing.T) {
	t.Parallel()
	startsOften(t)
	w := newCrashFolder(t)
	text := strings.Replace(w.configuration(t), "roots: ["+w.dir+"/wt]", "roots: []", 1)
	files.Write(t, w.config, strings.Replace(text, "discover: false", "discover: true, discover_from: [], discover_under: [], projects: []", 1))
	d := w.daemon(t)
	socket := filepath.Join(w.dir, "state", "api.sock")
	wait.Eventually(t, "the daemon answers", func() bool {
		_, err := client.New(socket).State(context.Background())
		return err == nil
	})
	ask := func(extra ...string) (string, string) {
		cmd := exec.Command(itself(), "explain", "--config", w.config, "--log-level", "debug", "dir:"+w.worktree)
		cmd.Env, cmd.Dir = append(w.env, extra...), filepath.Join(w.dir, "project")
		var out, notes bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &notes
		if err := cmd.Run(); err != nil {
			t.Fatalf("%v: %s", err, notes.String())
		}
		return times.ReplaceAllString(out.String(), "T"), notes.String()
	}
	here, _ := ask("WINNOW_RUN_API_ENABLED=false")
	there, notes := ask()
	if here != there || strings.Contains(notes, "done by this command itself") {
		t.Errorf("by itself:\n%s\nby the daemon:\n%s\n%s", here, there, notes)
	}
	_ = d
}

// TestTheDaemonRunsWithoutASocket where its folder can have none, unless a person named the place.
func TestTheDaemonRunsWithoutASocket(t *testing.T) {
	t.Parallel()
	startsOften(t)
	w := newCrashFolder(t)
	socket := filepath.Join(w.dir, "state", "api.sock")
	musts.Do(t, os.MkdirAll(filepath.Dir(socket), 0o700))
	files.Write(t, socket, "something else")
	d := w.daemon(t)
	d.says(`something else is there, and it was left(?s:.*)\b1 candidate to go`)
	if got := string(musts.Get(os.ReadFile(socket))(t)); got != "something else" {
		t.Errorf("it has become %q", got)
	}
	other := newCrashFolder(t)
	files.Write(t, other.config, other.configuration(t)+fmt.Sprintf("run: {api: {socket: %s}}\n", socket))
	if out, err := other.run(nil, "winnow", "run", "--config", other.config); err == nil || !strings.Contains(string(out), "something else is there") {
		t.Errorf("a place that was named: %v: %s", err, out)
	}
}

// TestWhereCommandsAskTheDaemon: another PATH is nothing by which it decides otherwise, as that of a service manager is; another git is.
func TestWhereCommandsAskTheDaemon(t *testing.T) {
	t.Parallel()
	w := newAPIWorld(t)
	bin := t.TempDir()
	itself := func(extra ...string) bool {
		out, err := w.run(append(extra, "WINNOW_LOG_LEVEL=debug"), "winnow", "holds", "--config", w.config)
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return strings.Contains(string(out), "done by this command itself")
	}
	path := "PATH=" + bin + ":" + os.Getenv("PATH")
	if itself(path) {
		t.Error("a folder more on PATH: the daemon was not asked")
	}
	files.Write(t, filepath.Join(bin, "git"), "#!/bin/sh\nexit 1\n")
	musts.Do(t, os.Chmod(filepath.Join(bin, "git"), 0o755))
	if !itself(path) {
		t.Error("another git: the daemon was asked")
	}
}

// TestStatusKnowsOfAPauseAtOnce, also of one that was placed without the daemon, before its next sweep.
func TestStatusKnowsOfAPauseAtOnce(t *testing.T) {
	t.Parallel()
	w := newAPIWorld(t)
	if out, err := w.run([]string{"WINNOW_RUN_API_ENABLED=false"}, "winnow", "pause", "--config", w.config, "--reason", "a migration"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if out := w.mustRun(t, "winnow", "status", "--config", w.config); !strings.Contains(out, "paused since") || !strings.Contains(out, "a migration") {
		t.Errorf("status: %s", out)
	}
}

// TestALeaseOnAPart keeps the worktree that it lies in, and a folder of it that is not there yet does too.
func TestALeaseOnAPart(t *testing.T) {
	t.Parallel()
	w := newAPIWorld(t)
	ctx := wait.Within(t, 2*wait.Patience)
	apply := func() { _, _ = w.run(nil, "winnow", "sweep", "--config", w.config, "--apply", "--confirm") }
	for _, part := range []string{"node_modules", "node_modules/not/yet"} {
		l := musts.Get(w.c.Lease(ctx, filepath.Join(w.worktree, part), "a build"))(t)
		if apply(); !w.here() {
			t.Fatalf("it went under a lease on %s", part)
		}
		musts.Do(t, l.Close())
	}
	wait.Eventually(t, "it goes without a lease on a part of it", func() bool { apply(); return !w.here() })
}

// TestALeaseBetweenLookAndActCounts: it is placed when the look has said that the folder may go, and the act on it is written down.
func TestALeaseBetweenLookAndActCounts(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("there is no curl: ", err)
	}
	w := newAPIWorld(t)
	line, pid := filepath.Join(w.dir, "line"), filepath.Join(w.dir, "pid")
	lease := fmt.Sprintf(`curl -sN --unix-socket %s -o %s -d '{"candidate":"%s","reason":"a build"}' http://winnow/v1/leases >%[2]s.log 2>&1 </dev/null & echo $! >%[4]s; until [ -s %[2]s ]; do sleep 0.05; done`,
		w.socket, line, w.worktree, pid)
	sweep := func() string {
		out, _ := w.run([]string{runAt + "=dir.refs:" + lease}, "winnow", "sweep", "--config", w.config, "--kind", "dir", "--apply")
		return string(out)
	}
	t.Cleanup(func() {
		if n, err := os.ReadFile(pid); err == nil {
			_ = exec.Command("kill", strings.TrimSpace(string(n))).Run()
		}
	})
	var out string
	wait.Eventually(t, "an act was begun", func() bool {
		out = sweep()
		_, err := os.Stat(pid)
		return err == nil
	})
	if !w.here() {
		t.Fatalf("it was leased, and went all the same\n%s", out)
	}
	if !strings.Contains(out, "held by") {
		t.Errorf("the act does not say why it was not done:\n%s", out)
	}
}

// TestHalfSentBodies: a request whose body does not come ends, also where its body is not read, and many of them block no other request.
func TestHalfSentBodies(t *testing.T) {
	stage.NeedSecond(t, "it attacks for a long time")
	t.Parallel()
	w, _, socket := answeringWorld(t, 208)
	first := w.sweep(pace.Start)
	w.d.Swept(t.Context(), pace.Start, time.Now(), first, nil)
	half := func(route string) net.Conn {
		c := musts.Get(net.Dial("unix", socket))(t)
		t.Cleanup(func() { _ = c.Close() })
		_, _ = io.WriteString(c, route+" HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{")
		return c
	}
	var ends []net.Conn
	for _, route := range []string{"POST /v1/leases", "POST /v1/holds?x=y", "GET /v1/report", "GET /v1/nowhere", "GET /v1/alive"} {
		ends = append(ends, half(route))
	}
	for _, c := range ends {
		_ = c.SetReadDeadline(time.Now().Add(2*localapi.BodyWithin + wait.Patience))
		if _, err := io.Copy(io.Discard, c); err != nil {
			t.Errorf("a connection with half a body does not end: %v", err)
		}
	}
	for i := range 2 * (localapi.MaxLeases + 200) {
		if i%3 == 0 {
			half("GET /v1/report")
		} else {
			half("POST /v1/leases")
		}
	}
	c := client.New(socket)
	defer c.Close()
	musts.Get(c.State(wait.Within(t, wait.Patience)))(t)
	l := musts.Get(c.Lease(wait.Within(t, 4*wait.Patience), w.worktree, "a build"))(t)
	for range 2 * localapi.MaxUnasked { // those do not end it
		half("POST /v1/leases")
	}
	musts.Get(c.State(wait.Within(t, wait.Patience)))(t)
	select {
	case <-l.Done():
		t.Errorf("the lease ended: %v", l.Err())
	default:
	}
	musts.Do(t, l.Close())
}

// TestExplainLeavesNoProcess: policies of one's own are judged in a process of its own, which ends with the answer.
func TestExplainLeavesNoProcess(t *testing.T) {
	stage.NeedSecond(t, "the same request again and again")
	t.Parallel()
	w := newAPIWorld(t)
	rules := filepath.Join(w.dir, "rules")
	files.Write(t, filepath.Join(rules, "protect", "mine", "mine.rego"), `# METADATA
# title: Mine
# description: Keeps nothing.
# custom:
#   kinds: [dir]
package policies.protect.mine

# METADATA
# title: Never
# description: Never.
objections contains {"rule": "protect.mine", "message": "it is mine", "evidence": {}} if input.dir.path == "/nowhere"
`)
	files.Write(t, w.config, strings.Replace(w.configuration(t), "policy: {", "policy: {paths: ["+rules+"], ", 1))
	w.d.signal(syscall.SIGHUP)
	w.d.says(`SIGHUP: reloaded`)
	children := func() int {
		text := string(musts.Get(os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", w.d.cmd.Process.Pid)))(t))
		return len(strings.Fields(text))
	}
	explain := func() { musts.Get(w.c.Explain(wait.Within(t, 3*wait.Patience), w.candidate()))(t) }
	for range 6 {
		explain()
	}
	wait.Eventually(t, "no process of a request is left", func() bool { return children() <= 1 }) // the daemon's own
}
