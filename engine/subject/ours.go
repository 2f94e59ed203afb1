package subject

// Ours reports whether the candidate is positively this user's and alive, so that it counts where a share is taken of what was seen.
// Sessions, tabs, terminals and folders of other users are not read at all; of processes those are, and the kernel's own.
func (s *Subject) Ours() bool {
	p := s.Process
	if p == nil {
		return true
	}
	return p.UID != nil && s.Host.UID != nil && *p.UID == *s.Host.UID && !p.IsKernel() && !dead(p)
}
