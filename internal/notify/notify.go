// Package notify tells people by themselves what the daemon does: on the desktop, and by webhooks.
//
// Each receiver has its own digest: what sweeps bring is put together there, and sent when notify.rest has passed
// since the message before. So a receiver that is slow or down delays no sweep, and keeps nothing that grows: counts,
// and the first few names. An alarm, a candidate to be asked about and a problem are told once, as long as they stand;
// that they were is remembered when a receiver has taken the message, also over a start of the daemon. So is how much
// a receiver has missed.
package notify

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/winnow-reaper/winnow/internal/sys/atomicfile"
	"github.com/winnow-reaper/winnow/internal/sys/httppost"
	"github.com/winnow-reaper/winnow/internal/sys/safeopen"
)

// The words of notify.on.
const (
	GroupActs     = "acts"
	GroupAlarms   = "alarms"
	GroupAsks     = "asks"
	GroupProblems = "problems"
)

// Groups are all words of notify.on.
var Groups = []string{GroupActs, GroupAlarms, GroupAsks, GroupProblems}

// Standing is something that is so as long as sweeps say it again: it is told once.
type Standing struct {
	Group string
	// Key is the same as long as it is the same thing.
	Key string
	Item
}

// Event is what one sweep has to tell.
type Event struct {
	At time.Time
	// Done are the acts that were done, each told. FreedBytes and Purged count what they and the trash gave back.
	Done       []Item
	FreedBytes int64
	Purged     int
	// Standing is all that stands, of the groups that the sweep can speak for: what is missing in them stands no
	// longer.
	Standing []Standing
	Speaks   []string
}

// Sink is where messages go.
type Sink interface {
	// Name says for a person which one it is, without a secret; ID is the same as long as it is the same receiver.
	Name() string
	ID() string
	// Send delivers one message. httppost.Passes says of its error whether a second try makes sense.
	Send(ctx context.Context, d *Document) error
}

// Options say what is told, and how.
type Options struct {
	Sinks []Sink
	// On are the groups that are told, Names how many things a message names.
	On    []string
	Names int
	// Rest is the least time between two messages to one sink. Forget is for how long something must have been missing
	// in sweeps to be new when it stands again.
	Rest, Forget time.Duration
	// Tries is how often a message is tried, Wait for how long before the second time, and twice as long before each
	// further one.
	Tries int
	Wait  time.Duration
	// Timeout bounds one try, Last all that is left to do at the end.
	Timeout, Last time.Duration
	// File is where it is remembered what was told, "" for nowhere.
	File string
	Host string
	// Log gets a line for what could not be sent or remembered. It may be called from several goroutines.
	Log func(format string, args ...any)
}

// maxWait bounds the wait between two tries.
const maxWait = 5 * time.Minute

// Notifier tells. New starts it, End ends it.
type Notifier struct {
	o        Options
	channels []*channel
	all      sync.WaitGroup
	// ending ends when the end has begun, ctx when no time is left for it.
	ending, ctx context.Context
	end, cancel context.CancelFunc

	mu     sync.Mutex
	memory memory
}

// channel is one sink with what waits for it.
type channel struct {
	n    *Notifier
	sink Sink
	told map[string]*mark

	kick chan struct{}

	mu      sync.Mutex
	pending *digest
	// lost is what no later message has told the sink yet.
	lost lost
	said string
	full bool
}

// mark is what is known of something that was told, or is about to be.
type mark struct {
	// sent is true when the sink has taken it, missing since when sweeps no longer say it, zero where they do.
	sent    bool
	missing time.Time
}

// New starts a notifier.
func New(o Options) *Notifier {
	n := &Notifier{o: o}
	n.ending, n.end = context.WithCancel(context.Background())
	n.ctx, n.cancel = context.WithCancel(context.Background())
	var err error
	if n.memory, err = remembered(o.File); err != nil {
		o.Log("what was told before is not known, and is told again: %v", err)
	}
	n.memory.only(o.Sinks)
	for _, s := range o.Sinks {
		c := &channel{n: n, sink: s, told: n.memory.marks(s.ID()), lost: n.memory.Lost[s.ID()],
			kick: make(chan struct{}, 1), pending: &digest{}}
		n.channels = append(n.channels, c)
		n.all.Go(c.run)
	}
	return n
}

// Hear takes note of a sweep. It never waits for a sink.
func (n *Notifier) Hear(e Event) {
	for _, c := range n.channels {
		c.hear(e)
	}
}

// End sends what waits, as far as Options.Last allows, and ends. What was not sent is said.
func (n *Notifier) End() {
	n.end()
	timer := time.AfterFunc(n.o.Last, n.cancel)
	n.all.Wait()
	timer.Stop()
	n.cancel()
	n.save()
}

func (c *channel) wants(group string) bool { return slices.Contains(c.n.o.On, group) }

// hear puts what is new of a sweep to what waits.
func (c *channel) hear(e Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	names, p, added := c.n.o.Names, c.pending, false
	if c.wants(GroupActs) && len(e.Done)+e.Purged > 0 {
		for _, i := range e.Done {
			p.act(i, names)
		}
		a := p.acts()
		a.Purged, a.FreedBytes = a.Purged+e.Purged, a.FreedBytes+e.FreedBytes
		added = true
	}
	stands := map[string]bool{}
	for _, s := range e.Standing {
		sum := sha256.Sum256([]byte(s.Key)) // what is remembered is a digest in place of names
		key := s.Group + ":" + hex.EncodeToString(sum[:16])
		stands[key] = true
		if m := c.told[key]; m != nil {
			m.missing = time.Time{}
			continue
		}
		if !c.wants(s.Group) {
			continue
		}
		if len(c.told) >= maxTold {
			if !c.full {
				c.n.o.Log("%s: %d things were told and still stand; what comes on top is not told", c.sink.Name(), maxTold)
			}
			c.full = true
			continue
		}
		c.told[key] = &mark{}
		p.keys = append(p.keys, key)
		p.add(s, names)
		added = true
	}
	for key, m := range c.told {
		switch group, _, _ := strings.Cut(key, ":"); {
		case stands[key] || !slices.Contains(e.Speaks, group):
		case m.missing.IsZero() || m.missing.After(e.At): // or the clock was set
			m.missing = e.At
		case e.At.Sub(m.missing) >= c.n.o.Forget && m.sent:
			delete(c.told, key)
		}
	}
	if p.empty() {
		return
	}
	if added {
		p.Sweeps++
	}
	select {
	case c.kick <- struct{}{}:
	default:
	}
}

// take gives what waits, nil for nothing.
func (c *channel) take() *digest {
	c.mu.Lock()
	defer c.mu.Unlock()
	d := c.pending
	if d.empty() {
		return nil
	}
	c.pending = &digest{}
	d.Schema, d.ID, d.At, d.Host = Schema, ulid.Make().String(), time.Now().UTC(), short(c.n.o.Host, maxName)
	d.Lost, d.LostActs = c.lost.Messages, c.lost.Acts
	d.write()
	return d
}

// run sends until the end.
func (c *channel) run() {
	var last time.Time
	for {
		select {
		case <-c.kick:
		case <-c.n.ending.Done():
			if d := c.take(); d != nil {
				c.deliver(d)
			}
			return
		}
		c.pause(time.Until(last.Add(c.n.o.Rest)))
		if d := c.take(); d != nil {
			c.deliver(d)
			last = time.Now()
		}
	}
}

// pause waits, but not beyond the beginning of the end.
func (c *channel) pause(d time.Duration) {
	select {
	case <-time.After(d):
	case <-c.n.ending.Done():
	}
}

// deliver tries to send a message, and takes note of what came of it.
func (c *channel) deliver(d *digest) {
	err := c.try(&d.Document)
	c.mu.Lock()
	if err == nil {
		c.lost, c.said = lost{c.lost.Messages - d.Lost, c.lost.Acts - d.LostActs}, ""
		for _, key := range d.keys {
			if m := c.told[key]; m != nil {
				m.sent = true
			}
		}
	} else {
		if c.lost.Messages++; d.Acts != nil {
			c.lost.Acts += d.Acts.Done + d.Acts.Failed
		}
		for _, key := range d.keys {
			delete(c.told, key)
		}
	}
	l, says := c.lost, err != nil && err.Error() != c.said
	if err != nil {
		c.said = err.Error()
	}
	c.mu.Unlock()
	if says {
		c.n.o.Log("%s: %v; messages that were lost: %d, with %d acts in them. What still stands is told again after a later sweep", c.sink.Name(), err, l.Messages, l.Acts)
	}
	c.n.save()
}

func (c *channel) try(d *Document) error {
	wait := c.n.o.Wait
	for left := c.n.o.Tries; ; {
		last := c.n.ending.Err() != nil
		ctx, cancel := context.WithTimeout(c.n.ctx, c.n.o.Timeout)
		err := c.sink.Send(ctx, d)
		cancel()
		if err == nil {
			return nil
		}
		after, passes := httppost.Passes(err)
		if left--; left <= 0 || !passes || last || c.n.ctx.Err() != nil {
			return err
		}
		c.pause(max(after, wait))
		wait = min(2*wait, maxWait)
	}
}

// save remembers what was told.
func (n *Notifier) save() {
	if n.o.File == "" {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, c := range n.channels {
		c.mu.Lock()
		n.memory.set(c.sink.ID(), c.told, c.lost)
		c.mu.Unlock()
	}
	if err := n.memory.save(n.o.File); err != nil {
		n.o.Log("what was told is not remembered, and is told again after a start: %v", err)
	}
}

// Result is what came of a test message.
type Result struct {
	Sink string `json:"sink"`
	// Error is why it was not delivered, "" where it was.
	Error string `json:"error,omitempty"`
}

// Test sends a test message to every sink, once each.
func Test(ctx context.Context, o Options) []Result {
	out := make([]Result, len(o.Sinks))
	var all sync.WaitGroup
	for i, s := range o.Sinks {
		out[i].Sink = s.Name()
		all.Go(func() {
			d := &Document{Schema: Schema, ID: ulid.Make().String(), At: time.Now().UTC(), Host: short(o.Host, maxName), Test: true}
			d.write()
			limited, cancel := context.WithTimeout(ctx, o.Timeout)
			defer cancel()
			if err := s.Send(limited, d); err != nil {
				out[i].Error = err.Error()
			}
		})
	}
	all.Wait()
	return out
}

// errNoBus says that there is no session to show something in.
var errNoBus = errors.New("no session bus of this user's was found: is somebody logged in on a desktop?")

const (
	// maxTold is how many things are remembered for a sink. What comes beyond is not told until others are forgotten.
	maxTold = 10000
	// maxMemory bounds the file, in bytes.
	maxMemory = 16 << 20

	memorySchema = "winnow.notified/v1"
)

// memory is what each sink was told, by its ID and then by key: when sweeps began not to say it any more, zero where they do.
type memory struct {
	Schema string                          `json:"schema"`
	Told   map[string]map[string]time.Time `json:"told"`
	// Lost is what each sink is still to be told of messages that it did not get, by its ID.
	Lost map[string]lost `json:"lost,omitempty"`
}

// lost counts messages that could not be delivered, and the acts that stood in them.
type lost struct {
	Messages int `json:"messages"`
	Acts     int `json:"acts"`
}

// remembered reads the memory. A missing file remembers nothing, which is not a failure.
func remembered(file string) (memory, error) {
	m := memory{Schema: memorySchema, Told: map[string]map[string]time.Time{}, Lost: map[string]lost{}}
	if file == "" {
		return m, nil
	}
	f, err := safeopen.Read(context.Background(), file, safeopen.Want{Max: maxMemory, Ruling: true})
	if errors.Is(err, fs.ErrNotExist) {
		return m, nil
	}
	var read memory
	if err == nil {
		err = json.Unmarshal(f.Data, &read)
	}
	if err == nil && read.Schema != memorySchema {
		err = fmt.Errorf("%s is not %s", file, memorySchema)
	}
	if err != nil {
		return m, err
	}
	for id, told := range read.Told {
		if len(told) <= maxTold {
			m.Told[id] = told
		}
	}
	for id, l := range read.Lost {
		if l.Messages > 0 {
			m.Lost[id] = lost{l.Messages, max(0, l.Acts)}
		}
	}
	return m, nil
}

// only forgets what concerns sinks that are configured no more.
func (m *memory) only(sinks []Sink) {
	gone := func(id string) bool { return !slices.ContainsFunc(sinks, func(s Sink) bool { return s.ID() == id }) }
	maps.DeleteFunc(m.Told, func(id string, _ map[string]time.Time) bool { return gone(id) })
	maps.DeleteFunc(m.Lost, func(id string, _ lost) bool { return gone(id) })
}

// marks is what a sink was told.
func (m *memory) marks(id string) map[string]*mark {
	out := map[string]*mark{}
	for key, missing := range m.Told[id] {
		out[key] = &mark{sent: true, missing: missing}
	}
	return out
}

func (m *memory) set(id string, told map[string]*mark, l lost) {
	if delete(m.Lost, id); l.Messages > 0 {
		m.Lost[id] = l
	}
	kept := map[string]time.Time{}
	for key, k := range told {
		if k.sent {
			kept[key] = k.missing
		}
	}
	m.Told[id] = kept
}

func (m *memory) save(file string) error {
	return atomicfile.Write(context.Background(), file, func(w io.Writer) error { return json.NewEncoder(w).Encode(m) })
}
