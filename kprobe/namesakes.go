package kprobe

import "github.com/ringtap/ringtap/symbols"

// tellApart finds out which functions of one name the function tracer knows, if
// it does not know all of them. Its list has names without addresses (the one
// with addresses is of 6.5); but it is in their order, so that an entry lies
// between its neighbours. The functions are sorted by name and module.
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
			continue // all stay: the kernel will say which
		}
		for i := range group {
			group[i].Traceable = known[i]
		}
	}
}

// between is the index of the function that lies between two neighbours, of whose
// names there may be several as well: in the narrowest gap; -1 if there is none.
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
