package uprobe

import "strconv"

// uniqueNames gives the sites of a plan names that differ, as perf probe does:
// malloc, malloc_1, malloc_2.
func uniqueNames(sites []Site) {
	taken := make(map[string]bool, len(sites))
	next := make(map[string]int)
	for i := range sites {
		base := sites[i].Event
		name := base
		for taken[name] {
			next[base]++
			suffix := "_" + strconv.Itoa(next[base])
			name = base[:min(len(base), maxEvent-len(suffix))] + suffix
		}
		taken[name] = true
		sites[i].Event = name
	}
}
