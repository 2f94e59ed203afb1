package processes

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

// Match says which working directories are or lie in which root: for the index of each root that has some, the indices of these,
// ascending. All are absolute and clean. The work grows with the number of both together, not with their product.
func Match(cwds, roots []string) map[int][]int {
	p := newPlaces(len(roots))
	for i, root := range roots {
		p.add(root, i)
	}
	type pair struct{ root, cwd int32 }
	pairs := make([]pair, 0, len(cwds))
	counts := make([]int32, len(roots))
	used := 0
	for i, cwd := range cwds {
		p.visit(cwd, func(numbers []int) {
			for _, n := range numbers {
				if counts[n]++; counts[n] == 1 {
					used++
				}
				pairs = append(pairs, pair{int32(n), int32(i)})
			}
		})
	}
	all := make([]int, len(pairs))
	lists := make([][]int, len(roots))
	for n, count := range counts {
		lists[n], all = all[:0:count], all[count:]
	}
	for _, q := range pairs {
		lists[q.root] = append(lists[q.root], int(q.cwd))
	}
	matches := make(map[int][]int, used)
	for n, list := range lists {
		if len(list) > 0 {
			matches[n] = list
		}
	}
	return matches
}
