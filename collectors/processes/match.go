package processes

import "strings"

// places finds, for a path, those of many folders that it is or lies in: it walks the path's ancestors through a table, so the
// work is the path's depth and not the number of folders.
type places struct {
	at map[string][]int
	// lengths marks those that some folder's path has: most ancestors need no look into the table.
	lengths []bool
}

func newPlaces(count int) *places {
	return &places{at: make(map[string][]int, count)}
}

// add enters folder, absolute and clean, as number i.
func (p *places) add(folder string, i int) {
	for len(p.lengths) <= len(folder) {
		p.lengths = append(p.lengths, make([]bool, len(folder)+1)...)
	}
	p.lengths[len(folder)] = true
	for _, have := range p.at[folder] {
		if have == i {
			return
		}
	}
	p.at[folder] = append(p.at[folder], i)
}

// visit calls found with the numbers of all folders that path is or lies in, the deepest first.
func (p *places) visit(path string, found func(numbers []int)) {
	if path == "" || path[0] != '/' {
		return
	}
	for len(path) > 1 {
		if len(path) < len(p.lengths) && p.lengths[len(path)] {
			if numbers := p.at[path]; numbers != nil {
				found(numbers)
			}
		}
		path = path[:strings.LastIndexByte(path, '/')]
	}
	if numbers := p.at["/"]; numbers != nil {
		found(numbers)
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
