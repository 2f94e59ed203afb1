package wake

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
)

// State is how a source of events stands.
type State struct {
	Listening bool      `json:"listening"`
	Since     time.Time `json:"since"`
	// Why is why it does not listen, or not to all that it is to; "" where it does, or has not begun.
	Why string `json:"why,omitempty"`
	// Failures counts how often it has ended by itself, or did not begin.
	Failures int `json:"failures"`
}

// Run listens to one source until ctx ends. It calls listening once it hears everything from then on, and says how often something happened by itself. An error that wraps
// ErrUnavailable is final.
type Run func(ctx context.Context, listening func()) error

// The shortest and the longest rest after a failure.
const (
	leastRest = time.Second
	mostRest  = 5 * time.Minute
)

// Keeper keeps sources of events listening: one that fails is started again after a rest, which doubles while it goes on failing. Its methods may be called from any goroutine.
type Keeper struct {
	wake        func(source string)
	log         hclog.Logger
	least, most time.Duration

	mu     sync.Mutex
	kept   map[string]*kept
	closed bool
	all    sync.WaitGroup
}

// kept is one source.
type kept struct {
	name, source string
	run          Run
	state        State
	again        chan struct{}
	cancel       context.CancelFunc
}

// NewKeeper makes one without sources. wake is called with the source's kind when it listens again, for what happened meanwhile is not known.
func NewKeeper(wake func(source string), log hclog.Logger) *Keeper {
	return &Keeper{wake: wake, log: log, least: leastRest, most: mostRest, kept: map[string]*kept{}}
}

// Keep has a source be listened to under this name, source being what it tells. One that has the name already stays.
func (k *Keeper) Keep(name, source string, run Run) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed || k.kept[name] != nil {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	one := &kept{name: name, source: source, run: run, again: make(chan struct{}, 1), cancel: cancel, state: State{Since: time.Now()}}
	k.kept[name] = one
	k.all.Go(func() { k.keep(ctx, one) })
}

// End stops listening to what has that name, soon.
func (k *Keeper) End(name string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if one := k.kept[name]; one != nil {
		one.cancel()
		delete(k.kept, name)
	}
}

// Retry has a source that rests be tried now: there is reason to think that it can be listened to.
func (k *Keeper) Retry(name string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if one := k.kept[name]; one != nil && !one.state.Listening {
		select {
		case one.again <- struct{}{}:
		default:
		}
	}
}

// States gives how every source stands, by its name.
func (k *Keeper) States() map[string]State {
	k.mu.Lock()
	defer k.mu.Unlock()
	out := make(map[string]State, len(k.kept))
	for name, one := range k.kept {
		out[name] = one.state
	}
	return out
}

// ends is how long Close waits at most: only a file system that does not answer takes so long.
const ends = 2 * time.Second

// Close ends all of them, and returns when nothing is left, or after two seconds.
func (k *Keeper) Close() {
	k.mu.Lock()
	k.closed = true
	for _, one := range k.kept {
		one.cancel()
	}
	k.mu.Unlock()
	done := make(chan struct{})
	go func() { k.all.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(ends):
	}
}

func (k *Keeper) keep(ctx context.Context, one *kept) {
	rest, told := k.least, false
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		err := one.run(ctx, func() { k.listens(one, &told) })
		if ctx.Err() != nil {
			return
		}
		lasted := k.failed(one, err)
		if errors.Is(err, ErrUnavailable) {
			k.log.Debug("a source of events is not used", "source", one.name, "why", err)
			return
		}
		if lasted > rest {
			rest = k.least
		}
		if told {
			k.log.Debug("a source of events ended once more", "source", one.name, "error", err)
		} else {
			told = true
			k.log.Warn("a source of events ended; it is tried again, and the schedule goes on", "source", one.name, "error", err)
		}
		timer.Reset(rest)
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
			rest = min(2*rest, k.most)
		case <-one.again:
		}
	}
}

func (k *Keeper) listens(one *kept, told *bool) {
	k.mu.Lock()
	again := one.state.Failures > 0
	one.state.Listening, one.state.Since, one.state.Why = true, time.Now(), ""
	select { // a call for another try is followed
	case <-one.again:
	default:
	}
	k.mu.Unlock()
	if again {
		if *told {
			k.log.Info("a source of events is heard again", "source", one.name)
		}
		*told = false
		k.wake(one.source)
	}
}

// failed notes the end of a source and says how long it was heard, 0 where it was not.
func (k *Keeper) failed(one *kept, err error) (lasted time.Duration) {
	k.mu.Lock()
	defer k.mu.Unlock()
	s := &one.state
	if s.Listening {
		lasted = time.Since(s.Since)
		s.Since = time.Now()
	}
	s.Listening, s.Why = false, "it ended"
	if err != nil {
		s.Why = err.Error()
	}
	s.Failures++
	return lasted
}
