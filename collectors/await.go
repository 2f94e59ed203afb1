package collectors

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/hashicorp/go-hclog"
)

// lateness is how long past its deadline a reader may still answer: one that honours its deadline needs a moment to say so
// and to hand over what it has.
const lateness = 100 * time.Millisecond

var (
	errStuck = errors.New("the reader did not answer in time and was abandoned")
)

// await runs read and gives what it gave, or gives up on it shortly after ctx ends. What an abandoned read writes later goes to
// a reading that no other code holds.
func await(ctx context.Context, what reading, read func(context.Context, *reading), log hclog.Logger) reading {
	answer := make(chan reading, 1)
	go func() { answer <- guarded(ctx, what, read, log) }()
	select {
	case end := <-answer:
		return end
	case <-ctx.Done():
	}
	timer := time.NewTimer(lateness)
	defer timer.Stop()
	select {
	case end := <-answer:
		return end
	case <-timer.C:
		late := what // the reader's goroutine still reads what
		late.err = fmt.Errorf("%w: %w", errStuck, ctx.Err())
		return late
	}
}

// guarded runs read and turns a panic into an error.
func guarded(ctx context.Context, what reading, read func(context.Context, *reading), log hclog.Logger) (end reading) {
	end = what
	defer func() {
		if p := recover(); p != nil {
			log.Error("reader panicked", "source", what.Name, "panic", oneLine(fmt.Sprint(p)), "stack", string(debug.Stack()))
			end = what
			end.err = fmt.Errorf("the reader panicked: %v; this is a fault in winnow: please report it", p)
		}
	}()
	read(ctx, &end)
	return end
}
