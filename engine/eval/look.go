package eval

import (
	"sync"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/winnow-reaper/winnow/engine/plan"
	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/engine/subject"
)

// look is a snapshot that was joined, to be decided by several engines, one after the other: what they are asked is joined and written once.
// It must not be decided by two at the same time.
type look struct {
	snapshot *snapshot.Snapshot
	config   *subject.Config
	joined   *subject.Joined
	desk     *plan.Desk
	// guess takes OPA's plan at its word: what is said only serves to leave something out that would be read.
	guess bool
	// recall is what was said of earlier snapshots' candidates; nil where all are asked of.
	recall *recall

	mu   sync.Mutex
	docs map[string]asked // by id; nil where nothing is kept
}

// asked is a subject, and what a policy gets of it.
type asked struct {
	subject *subject.Subject
	input   ast.Value
}

// newLook joins a snapshot for engines that are all asked with this configuration. keep is for more than one that will be asked of the same candidates.
func newLook(s *snapshot.Snapshot, c *subject.Config, keep bool) *look {
	l := joined(s, c)
	if keep {
		l.docs = map[string]asked{}
	}
	return l
}

func joined(s *snapshot.Snapshot, c *subject.Config) *look {
	j := subject.Join(s, c)
	return &look{snapshot: s, config: c, joined: j, desk: plan.NewDesk(j)}
}

// subject is the subject of a candidate.
func (l *look) subject(id string) (*subject.Subject, bool) { return l.fill(new(subject.Subject), id) }

// fill is subject in memory that may be used again for it. Where subjects are kept it is not.
func (l *look) fill(room *subject.Subject, id string) (*subject.Subject, bool) {
	if l.docs == nil {
		return room, l.joined.Fill(room, id)
	}
	l.mu.Lock()
	d, ok := l.docs[id]
	l.mu.Unlock()
	if ok {
		return d.subject, true
	}
	sub, ok := l.joined.Subject(id)
	if ok {
		l.mu.Lock()
		l.docs[id] = asked{subject: sub}
		l.mu.Unlock()
	}
	return sub, ok
}

// candidate is a subject to ask of, with a desk that is the caller's own. What is kept is a document, which is written once.
func (l *look) candidate(sub *subject.Subject, mine *plan.Desk) candidate {
	if l.docs == nil {
		return candidate{subject: sub, desk: mine}
	}
	return candidate{subject: sub, input: l.input(sub, mine)}
}

// input is the document of a subject, written at a desk that is the caller's own.
func (l *look) input(sub *subject.Subject, mine *plan.Desk) ast.Value {
	if l.docs == nil {
		return mine.Document(sub)
	}
	l.mu.Lock()
	d := l.docs[sub.ID]
	l.mu.Unlock()
	if d.input == nil {
		d = asked{sub, mine.Document(sub)}
		l.mu.Lock()
		l.docs[sub.ID] = d
		l.mu.Unlock()
	}
	return d.input
}
