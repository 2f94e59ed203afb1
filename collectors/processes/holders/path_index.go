package holders

import "slices"

// places finds, for a path, those of many folders that it is or lies in: it looks its ancestors up in a table, so the work
// does not grow with the number of folders.
type places struct {
	at map[string][]int
	// sizes are the lengths that the folders' paths have, the longest first: an ancestor of another length needs no look.
	sizes []int
}

func newPlaces(count int) *places {
	return &places{at: make(map[string][]int, count)}
}

// add enters folder, absolute and clean, as number i.
func (p *places) add(folder string, i int) {
	have := p.at[folder]
	if slices.Contains(have, i) {
		return
	}
	p.at[folder] = append(have, i)
	at, known := slices.BinarySearchFunc(p.sizes, len(folder), func(a, b int) int { return b - a })
	if !known {
		p.sizes = slices.Insert(p.sizes, at, len(folder))
	}
}

// visit calls found with the numbers of all folders that path is or lies in, the deepest first.
func (p *places) visit(path string, found func(numbers []int)) {
	if path == "" || path[0] != '/' {
		return
	}
	for _, n := range p.sizes {
		if n > len(path) || n > 1 && n < len(path) && path[n] != '/' {
			continue
		}
		if numbers := p.at[path[:n]]; numbers != nil {
			found(numbers)
		}
	}
}
