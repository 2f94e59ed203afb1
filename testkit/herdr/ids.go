package herdr

import (
	"slices"
	"strconv"
	"strings"
)

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

// unbase32 reads what base32 wrote, and gives -1 for anything else (decode_public_number).
func unbase32(text string) (n int) {
	for _, letter := range text {
		digit := strings.IndexRune(digits, letter)
		if digit < 0 || n > 1<<40 {
			return -1
		}
		n = n*32 + digit + 1
	}
	return n
}

// number reads a number as Rust does: a plus may stand before it, and zeros. It gives -1 for what is none.
func number(text string) int {
	n, err := strconv.ParseUint(strings.TrimPrefix(text, "+"), 10, 31)
	if err != nil {
		return -1
	}
	return int(n)
}

// position reads a position from 1 and gives an index, or -1.
func position(text string) int { return max(number(text), 0) - 1 }

// The parsers below follow src/app/ids.rs of herdr, which takes more than it writes: an id that is none can name a real thing by its
// position, and a client that sends one closes that thing. A workspace's exact id comes first.

func (m *model) findWorkspace(id string) *workspace {
	shown := m.shown()
	for _, w := range shown {
		if w.id == id {
			return w
		}
	}
	i := position(strings.TrimPrefix(id, "w_"))
	if i < 0 || i >= len(shown) {
		return nil
	}
	return shown[i]
}

func (m *model) findTab(id string) *tab {
	rest, legacy := strings.CutPrefix(id, "t_")
	sep := ":"
	if legacy {
		sep = "_"
	}
	i := strings.LastIndex(rest, sep)
	if i < 0 {
		return nil
	}
	w, which := m.findWorkspace(rest[:i]), rest[i+1:]
	if w == nil {
		return nil
	}
	if stable, ok := strings.CutPrefix(which, "t"); ok && !legacy {
		n := unbase32(stable)
		return pickFirst(w.tabs, func(t *tab) bool { return t.number == n })
	}
	if n := position(which); n >= 0 && n < len(w.tabs) {
		return w.tabs[n]
	}
	return nil
}

func (m *model) findPane(id string) *pane {
	if p := pickFirst(m.panes(), func(p *pane) bool { return slices.Contains(p.aliases, id) }); p != nil {
		return p
	}
	if rest, legacy := strings.CutPrefix(id, "p_"); legacy {
		return m.rawPane(rest)
	}
	if i := strings.LastIndex(id, ":p"); i >= 0 {
		return m.numbered(id[:i], unbase32(id[i+2:]))
	}
	if i := strings.LastIndexByte(id, '-'); i >= 0 {
		return m.numbered(id[:i], number(id[i+1:]))
	}
	return nil
}

// numbered is a workspace's pane by the number behind its id.
func (m *model) numbered(workspace string, n int) *pane {
	w := m.findWorkspace(workspace)
	return pickFirst(m.panes(), func(p *pane) bool { return w != nil && p.tab.workspace == w && p.number == n })
}

func pickFirst[T any](list []*T, is func(*T) bool) *T {
	if i := slices.IndexFunc(list, is); i >= 0 {
		return list[i]
	}
	return nil
}

// rawPane finds by the number that a pane has over the whole server, in "75" or, with its workspace before it, "1_75".
func (m *model) rawPane(text string) *pane {
	var w *workspace
	if i := strings.LastIndexByte(text, '_'); i >= 0 {
		if w = m.findWorkspace(text[:i]); w == nil {
			return nil
		}
		text = text[i+1:]
	}
	n := number(text)
	return pickFirst(m.panes(), func(p *pane) bool { return p.raw == n && (w == nil || p.tab.workspace == w) })
}
