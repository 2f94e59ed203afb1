package holders

import (
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/winnow-reaper/winnow/engine/snapshot"
	"github.com/winnow-reaper/winnow/internal/sys/proc"
)

// overlay is the kind of file system that is made of others' folders.
const overlay = "overlay"

// layers takes the folders that an overlay is made of out of its options. The kernel writes blanks, commas and, since 6.5, colons in
// them as octal escapes, and leaves the backslashes that mount(8) wants before a colon of older ones. Where it is unknown which of
// the two was meant, both are given: one too many keeps a folder.
func layers(options string) []string {
	var all []string
	for option := range strings.SplitSeq(options, ",") {
		key, value, _ := strings.Cut(option, "=")
		switch strings.TrimRight(key, "+") {
		case "lowerdir", "upperdir", "workdir", "datadir":
		default:
			continue
		}
		for _, part := range splitLayers(value) {
			raw := proc.Unescape(part)
			all = append(all, raw)
			if plain := unslash(raw); plain != raw {
				all = append(all, plain)
			}
		}
	}
	return all
}

// splitLayers cuts at colons, and gives a part whole too whose colons stand behind a backslash.
func splitLayers(value string) []string {
	var parts []string
	for part := range strings.SplitSeq(value, ":") {
		if part != "" {
			parts = append(parts, part)
		}
	}
	const slashed = `\134:`
	if strings.Contains(value, slashed) {
		const mark = "\x00"
		for part := range strings.SplitSeq(strings.ReplaceAll(value, slashed, mark), ":") {
			parts = append(parts, strings.ReplaceAll(part, mark, ":"))
		}
	}
	return parts
}

// unslash takes the backslashes away that protect a sign.
func unslash(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) {
			i++
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// overlaid adds holder to the folders that a layer of an overlay is in. A layer has the name that it was mounted by: where that is
// relative, the working directory of then is not known, and every folder counts that has such a thing, or could be it.
func (h *scan) overlaid(m proc.Mount, holder snapshot.Holder) {
	for _, layer := range layers(m.Options) {
		if !strings.HasPrefix(layer, "/") {
			h.relativeLayer(path.Clean(layer), holder)
			continue
		}
		h.addNamed(path.Clean(layer), holder)
		if real, err := filepath.EvalSymlinks(layer); err == nil && real != layer {
			h.addNamed(real, holder)
		}
	}
}

// addNamed adds holder to the folders that a name leads into, in any of the mount namespaces.
func (h *scan) addNamed(name string, holder snapshot.Holder) {
	for _, v := range h.views {
		v.visit(name, func(numbers []int) {
			for _, i := range numbers {
				h.add(i, holder)
			}
		})
	}
}

func (h *scan) relativeLayer(layer string, holder snapshot.Holder) {
	if layer == "." || strings.HasPrefix(layer, "..") {
		return // what mount(8) and containers' engines give has a name
	}
	h.seen.layers[filepath.Base(layer)] = append(h.seen.layers[filepath.Base(layer)], relative{layer, holder})
	parts := strings.Split(layer, "/")
	for i, s := range h.spots {
		if s.of != i {
			continue
		}
		if _, err := os.Lstat(filepath.Join(s.path, layer)); err == nil {
			h.add(i, holder)
			continue
		}
		for n := len(parts); n > 0; n-- {
			if strings.HasSuffix(s.path, "/"+path.Join(parts[:n]...)) {
				h.add(i, holder)
				break
			}
		}
	}
}

// relative is a layer with a relative name.
type relative struct {
	layer  string
	holder snapshot.Holder
}
