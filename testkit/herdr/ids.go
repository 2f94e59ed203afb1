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

// unbase32 reads what base32 wrote.
func unbase32(text string) (n int) {
	for _, letter := range text {
		n = n*32 + strings.IndexRune(digits, letter) + 1
	}
	return n
}

// position reads a position from 1 and gives an index, or -1.
func position(text string) int {
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil || n == 0 {
		return -1
	}
	return int(n) - 1
}

// The parsers below are as lenient as herdr's: an id that is none can name a real thing by its position, and a client that sends one
// closes that thing. The exact id always comes first.

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
	if t := m.tabs()[id]; t != nil {
		return t
	}
	rest, legacy := strings.CutPrefix(id, "t_")
	sep := ":"
	if legacy {
		sep = "_"
	}
	i := strings.LastIndex(rest, sep)
	if i < 0 {
		return nil
	}
	w := m.findWorkspace(rest[:i])
	if w == nil {
		return nil
	}
	if n := position(rest[i+1:]); n >= 0 && n < len(w.tabs) {
		return w.tabs[n]
	}
	return nil
}

func (m *model) findPane(id string) *pane {
	for _, p := range m.panes() {
		if p.id == id || slices.Contains(p.aliases, id) {
			return p
		}
	}
	if rest, legacy := strings.CutPrefix(id, "p_"); legacy {
		return m.rawPane(rest)
	}
	i := strings.LastIndexByte(id, '-')
	if i < 0 {
		return nil
	}
	w, n := m.findWorkspace(id[:i]), position(id[i+1:])
	for _, p := range m.panes() {
		if w != nil && p.tab.workspace == w && p.number == n+1 {
			return p
		}
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
	n := position(text)
	for _, p := range m.panes() {
		if p.raw == n+1 && (w == nil || p.tab.workspace == w) {
			return p
		}
	}
	return nil
}
