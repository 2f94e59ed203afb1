package eval

import (
	"sync"

	"github.com/open-policy-agent/opa/v1/ast"

	"winnow/engine/snapshot"
	"winnow/engine/subject"
)

// look is a snapshot that was joined, to be decided by several engines, one after the other: what they are asked is joined and written once.
// It must not be decided by two at the same time.
type look struct {
	snapshot *snapshot.Snapshot
	config   *subject.Config
	joined   *subject.Joined
	plan     *plan
	desk     *desk

	mu   sync.Mutex
	docs map[string]asked // by id; nil where nothing is kept
}

// asked is a subject, and what a policy gets of it.
type asked struct {
	subject *subject.Subject
	input   ast.Value
}

// sharedPlan is that of all looks: plans are the same.
var sharedPlan = sync.OnceValue(newPlan)

// newLook joins a snapshot for engines that are all asked with this configuration. keep is for more than one that will be asked of the same candidates.
func newLook(s *snapshot.Snapshot, c *subject.Config, keep bool) *look {
	l := joined(s, c, sharedPlan())
	if keep {
		l.docs = map[string]asked{}
	}
	return l
}

func joined(s *snapshot.Snapshot, c *subject.Config, p *plan) *look {
	j := subject.Join(s, c)
	return &look{snapshot: s, config: c, joined: j, plan: p, desk: p.desk(j)}
}

// subject is the subject of a candidate.
func (l *look) subject(id string) (*subject.Subject, bool) {
	if l.docs == nil {
		return l.joined.Subject(id)
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

// input is the document of a subject, written at a desk that is the caller's own.
func (l *look) input(sub *subject.Subject, mine *desk) ast.Value {
	if l.docs == nil {
		return l.plan.input(sub, mine)
	}
	l.mu.Lock()
	d := l.docs[sub.ID]
	l.mu.Unlock()
	if d.input == nil {
		d = asked{sub, l.plan.input(sub, mine)}
		l.mu.Lock()
		l.docs[sub.ID] = d
		l.mu.Unlock()
	}
	return d.input
}
