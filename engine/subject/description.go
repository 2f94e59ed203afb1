package subject

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/winnow-reaper/winnow/engine/decision"
)

// About are the facts by which a person recognises the candidate.
func (s *Subject) About() *decision.About {
	a := &decision.About{Age: s.Age, Idle: s.Idle}
	if d := s.Dir; d != nil && d.Git != nil {
		a.Repository, a.Branch = cmp.Or(d.Git.Main, d.Git.CommonDir), strings.TrimPrefix(d.Git.Branch, "refs/heads/")
		a.Gone = known(d.Gone)
	}
	if p := s.Process; p != nil {
		a.Command, a.Memory = p.Name, p.RSS
		if said := cmp.Or(known(p.Package), known(p.Script)); said != "" && said != p.Name {
			a.Command += " " + said
		}
		if p.Cwd != nil {
			a.Folder = strings.TrimSuffix(*p.Cwd, deleted)
			a.Gone = p.CwdDeleted != nil && *p.CwdDeleted
		}
		if l := s.Lineage; l != nil {
			a.Below = l.Descendants
			if l.Agent != nil {
				a.Agent = fmt.Sprintf("%s (%d)", l.Agent.Name, l.Agent.PID)
			}
		}
	}
	if *a == (decision.About{}) {
		return nil
	}
	return a
}
