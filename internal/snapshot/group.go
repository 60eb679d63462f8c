package snapshot

import (
	"cmp"
	"slices"
	"strings"
)

// Group is a group of threads at the same place.
type Group struct {
	Threads []*Thread // by TID; their stacks are all the same
}

// Group groups threads that have the same stacks, largest group first. The arguments of their
// system calls may differ.
func (s *Snapshot) Group() []Group {
	var groups []Group
	byPlace := make(map[string]int)
	for _, t := range s.Threads {
		place := t.place()
		i, ok := byPlace[place]
		if !ok {
			i = len(groups)
			byPlace[place] = i
			groups = append(groups, Group{})
		}
		groups[i].Threads = append(groups[i].Threads, t)
	}
	slices.SortStableFunc(groups, func(a, b Group) int { return cmp.Compare(len(b.Threads), len(a.Threads)) })
	return groups
}

// place returns a key that is equal for threads at the same place.
func (t *Thread) place() string {
	call, _, _ := strings.Cut(t.Call, "(")
	parts := append([]string{string(t.State), call, t.Wchan}, t.Kernel...)
	for i := range t.User {
		parts = append(parts, t.User[i].String())
	}
	return strings.Join(append(parts, t.Missing, t.Uninterpreted), "\n")
}
