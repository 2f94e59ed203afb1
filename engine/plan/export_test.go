package plan

// Remembered is how many calls of functions a machine remembers.
func Remembered(m *Machine) int { return len(m.memo) }
