package processes

import "github.com/winnow-reaper/winnow/internal/sys/proc"

// shared has one place for all equal values that many processes have in common. Records point to it, and nothing is changed there.
type shared struct {
	numbers   map[int]*int
	terminals map[int]*string
	flags     [2]*bool
	// unmarked is what a process without markers has.
	unmarked *map[string]string
	// taking is whether orphans are handed to processes, by pid, as far as was asked.
	taking map[int]bool
}

func newShared() shared {
	return shared{
		numbers: map[int]*int{}, terminals: map[int]*string{}, flags: [2]*bool{new(false), new(true)},
		unmarked: &map[string]string{}, taking: map[int]bool{},
	}
}

func (s *shared) number(n int) *int {
	at, ok := s.numbers[n]
	if !ok {
		at = new(n)
		s.numbers[n] = at
	}
	return at
}

func (s *shared) flag(v bool) *bool {
	if v {
		return s.flags[1]
	}
	return s.flags[0]
}

// terminal is the name of a terminal by its device number.
func (s *shared) terminal(device int) *string {
	at, ok := s.terminals[device]
	if !ok {
		at = new(proc.Terminal(device))
		s.terminals[device] = at
	}
	return at
}
