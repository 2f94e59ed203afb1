package herdr

import "slices"

// digits are those of herdr's numbers in ids: bijective base 32, so "0" is 32 and there is no leading zero.
const digits = "123456789ABCDEFGHJKMNPQRSTVWXYZ0"

// base32 writes n, from 1, as herdr does in an id.
func base32(n int) string {
	var out []byte
	for n > 0 {
		n--
		out = append(out, digits[n%32])
		n /= 32
	}
	slices.Reverse(out)
	return string(out)
}

// herdr itself takes more than the ids that it writes: w1:1 names a tab by its position. Here these name nothing: a test announces the very
// id that may be sent.

func (m *model) findWorkspace(id string) *workspace {
	return pickFirst(m.shown(), func(w *workspace) bool { return w.id == id })
}

func (m *model) findPane(id string) *pane {
	return pickFirst(m.panes(), func(p *pane) bool { return p.id == id || slices.Contains(p.aliases, id) })
}

func pickFirst[T any](list []*T, is func(*T) bool) *T {
	if i := slices.IndexFunc(list, is); i >= 0 {
		return list[i]
	}
	return nil
}
