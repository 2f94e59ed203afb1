// Package actuators carries decisions out, and is the only code that changes the world.
//
// The policy's verdict is a request. What stands here and in the packages below is the floor: it refuses what must never be
// done for every verdict, and no policy and no flag lowers it.
package actuators

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/winnow-reaper/winnow/engine/decision"
)

// ErrRefused marks an error as the floor's, git's or the kernel's "no": the thing was left untouched on purpose.
var ErrRefused = errors.New("refused")

// ErrGone marks an error as "it no longer exists", and ErrChanged as "it is another thing now". Neither is a failure.
var (
	ErrGone    = errors.New("gone")
	ErrChanged = errors.New("changed")
)

// ErrDisputed marks an error as "the act was carried out, and the thing is still there".
var ErrDisputed = errors.New("disputed")

// ErrPart marks an error as "it is back in its place, and not whole": what was set aside is no longer in the trash, and a person has to look.
var ErrPart = errors.New("brought back in part")

// Judge looks at candidates of one kind again, in one look, and decides again, by the same collectors and the same policies as the sweep. It
// gives a judgement for each of ds, in their order.
type Judge interface {
	Rejudge(ctx context.Context, ds []decision.Decision) []Judgement
}

// Judgement is what another look says of a candidate. A Decision without an ID says that the candidate is positively not there any more;
// Err says that it could not be judged.
type Judgement struct {
	Decision decision.Decision
	Err      error
}

// Journal writes down what is about to be done, durably, and how it went.
type Journal interface {
	Intend(ctx context.Context, in decision.Intent) error
	Settled(ctx context.Context, id string, out decision.Outcome) error
}

// Grants is the one order between acts and what is held meanwhile.
type Grants interface {
	// Begin says that an act on what was decided on begins. An error says why it must not: something that it takes is held by now, or whether it is is not known. From then on until
	// End no lease or hold is granted what the act takes.
	Begin(ctx context.Context, act string, d decision.Decision) error
	// End says that the act has ended, and whether the thing went.
	End(ctx context.Context, act string, taken bool)
}

// ErrStale says that a thing was judged too long ago to be acted on.
var ErrStale = errors.New("judged too long ago")

// Actuator acts on candidates of one kind. It judges nothing: what may go is for the policies to say, through Judge.
type Actuator interface {
	// Hold takes hold of the one thing that d names, so that it cannot become another unnoticed, and plans the act. It
	// changes nothing. ErrRefused, ErrGone and ErrChanged say why it would not.
	Hold(ctx context.Context, act string, d decision.Decision) (Held, error)
	// Settle finds out, by looking, how an act went that was cut short, and finishes or undoes it.
	Settle(ctx context.Context, in decision.Intent) decision.Outcome
}

// Batcher is an Actuator that can hold several things at once, so that one look judges all of them. Without it each is looked at for itself.
type Batcher interface {
	Actuator
	// Batch says how many of ds, from the first on, may be one batch: 1 at least, and no two of which an act on one changes what is true
	// of the other, or what its last judgement rests on.
	Batch(ds []decision.Decision) int
}

// Together is a Batcher that asks once for all acts of a batch what would take as long for each of them, such as a pass over all processes.
type Together interface {
	Batcher
	// ActTogether does what Held.Act does of each of held, by the intent with the same index, and gives an outcome for each. begin is called right before
	// each act, with its index. With ErrStale what has not begun is left untouched and has no outcome (nil): it is judged once more first. With any other error that one
	// thing is left untouched. What has begun is brought to an end, and none fails because another does.
	ActTogether(ctx context.Context, held []Held, ins []decision.Intent, begin func(i int) error) []*decision.Outcome
}

// Options are what actuators of panes and processes act with. Each of them takes what it needs.
type Options struct {
	// Trash is the folder under which each act keeps what it saved, in a folder of its own (0700) called by the act's id.
	Trash string
	// TermGrace is how long a process has to end by itself, or after TERM, before it is killed.
	TermGrace time.Duration
	// ProcRoot is where the procfs of this process's own pid namespace is mounted; empty is /proc.
	ProcRoot string
	// Never is what is never signalled: a thing that has one of these is refused. Its UID is the user whose servers and processes are touched.
	Never NeverProcess
	// Shells are the names of programs that wait for input at a prompt (comm).
	Shells []string
	// Env looks a variable of the environment up.
	Env func(string) string
	// Step, when set, is called with a step's name right before it is taken.
	Step func(string)
	// Log may be nil.
	Log hclog.Logger

	// Tmux is the program; empty is tmux, looked up in PATH.
	Tmux string
	// Lock is the file whose flock lets one program at a time close tabs of herdr, and LockWait how long another one is waited for.
	Lock     string
	LockWait time.Duration
	// Timeout is how long a Tower has to answer a question; 0 is 5 s. It has twice that to close a terminal, and all tries together to
	// have it do so begin within that time.
	Timeout time.Duration
}

// WithDefaults gives o with what may be left out: /proc, no steps, no log.
func (o Options) WithDefaults() Options {
	if o.Step == nil {
		o.Step = func(string) {}
	}
	o.ProcRoot, o.Log = cmp.Or(o.ProcRoot, "/proc"), cmp.Or(o.Log, hclog.NewNullLogger())
	return o
}

// WithLogName gives o with a name for its log.
func (o Options) WithLogName(name string) Options {
	o.Log = o.Log.Named(name)
	return o
}

// PlanText is the text of a plan, for what is Held.
type PlanText json.RawMessage

// Plan implements Held.
func (p PlanText) Plan() json.RawMessage { return json.RawMessage(p) }

// Held is one thing held. The Carrier calls its methods in this order: Plan, Save, Act, Close.
type Held interface {
	// Plan is what the act will use, every name and place of it; it goes into the intent.
	Plan() json.RawMessage
	// Save writes down what the act would lose. It is called after the thing was judged again and after the intent is durable, and
	// changes nothing of the thing. After an error of Save, or when nothing is done after it, Close removes what was saved.
	Save(ctx context.Context) error
	// Act makes sure that the thing is still what in.Identity says, its State included, and does the one thing that cannot be undone. It is
	// called right after the thing was judged for the last time, and looks afterwards whether it worked.
	Act(ctx context.Context, in decision.Intent) decision.Outcome
	// Close lets go. It is called once, also after an error.
	Close() error
}

// Back is what was brought back: the id that it has as a candidate now ("" where that is not known), and a sentence on where it is.
type Back struct{ Candidate, Where string }

// Restorer is an actuator whose acts set something aside.
type Restorer interface {
	// Restore brings back what the act set aside and says where it is now. It overwrites nothing. ErrPart means
	// that a part is missing, and the text names that part.
	Restore(ctx context.Context, in decision.Intent) (Back, error)
	// Purge removes what the act set aside for good, once its time has passed, and says how many bytes that freed.
	Purge(ctx context.Context, in decision.Intent) (int64, error)
}

// reason is an error that reads as one sentence and is both a why (ErrRefused, ErrGone, ErrChanged, ErrDisputed) and its cause.
type reason struct {
	why  error
	text error
}

func (r *reason) Error() string   { return r.text.Error() }
func (r *reason) Unwrap() []error { return []error{r.why, r.text} }

// Refused makes an error that is ErrRefused and reads as format says. It wraps what %w names.
func Refused(format string, args ...any) error {
	return &reason{ErrRefused, fmt.Errorf(format, args...)}
}

// Gone makes an error that is ErrGone and reads as format says.
func Gone(format string, args ...any) error { return &reason{ErrGone, fmt.Errorf(format, args...)} }

// Changed makes an error that is ErrChanged and reads as format says.
func Changed(format string, args ...any) error {
	return &reason{ErrChanged, fmt.Errorf(format, args...)}
}

// Disputed makes an error that is ErrDisputed and reads as format says.
func Disputed(format string, args ...any) error {
	return &reason{ErrDisputed, fmt.Errorf(format, args...)}
}

// OutcomeOf is the outcome of an act that err ended before it changed anything.
func OutcomeOf(err error) decision.Outcome {
	out := decision.Outcome{Outcome: decision.Failed, Detail: err.Error()}
	switch {
	case errors.Is(err, ErrRefused):
		out.Outcome = decision.Refused
	case errors.Is(err, ErrGone):
		out.Outcome = decision.Gone
	case errors.Is(err, ErrChanged):
		out.Outcome = decision.Changed
	case errors.Is(err, ErrDisputed):
		out.Disputed = true
	}
	return out
}
