package kprobe

import "github.com/ringtap/ringtap/symbols"

// tellApart corrects Traceable for functions of the same name if the function tracer's list has
// fewer entries of that name. The list has names without addresses (one with addresses exists
// since 6.5). But it is in address order, so a function must be between the neighbors of its
// entry. functions must be sorted by name and module.
func (l *lookup) tellApart(functions []Function) {
	var groups [][]Function
	wanted := map[string]bool{}
	for start := 0; start < len(functions); {
		end := start + 1
		for end < len(functions) && functions[end].String() == functions[start].String() {
			end++
		}
		group := functions[start:end]
		start = end
		entries := l.traced[tracedName{group[0].Module, group[0].Name}]
		if len(entries) == 0 || len(entries) >= len(group) || group[0].Address == 0 {
			continue
		}
		groups = append(groups, group)
		for _, e := range entries {
			wanted[e.before], wanted[e.after] = true, true
		}
	}
	if len(groups) == 0 {
		return
	}
	delete(wanted, "")
	table, err := l.kernel.symbols(false, func(s *symbols.KernelSymbol) bool { return isFunction(s.Type) && wanted[string(s.Name)] })
	if err != nil {
		l.logger.Debug("which functions of one name can be traced is not known", "error", err)
		return
	}
	at := map[tracedName][]uint64{}
	for i := range table.found {
		f := &table.found[i]
		at[tracedName{f.Module, f.Name}] = append(at[tracedName{f.Module, f.Name}], f.Address)
	}
	for _, group := range groups {
		known := make([]bool, len(group))
		found := 0
		entries := l.traced[tracedName{group[0].Module, group[0].Name}]
		for _, e := range entries {
			module := group[0].Module
			if i := between(group, at[tracedName{module, e.before}], at[tracedName{module, e.after}]); i >= 0 && !known[i] {
				known[i] = true
				found++
			}
		}
		if found < len(entries) {
			continue // leave them all Traceable: the kernel will reject the wrong ones
		}
		for i := range group {
			group[i].Traceable = known[i]
		}
	}
}

// between returns the index of the function between two neighbors, or -1 if there is none. A
// neighbor's name may have several addresses, too; then the narrowest gap wins.
func between(group []Function, before, after []uint64) int {
	best, width := -1, uint64(0)
	for i := range group {
		address := group[i].Address
		for _, b := range before {
			for _, a := range after {
				if b < address && address < a && (best < 0 || a-b < width) {
					best, width = i, a-b
				}
			}
		}
	}
	return best
}
