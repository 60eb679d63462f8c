package symbols

import (
	"cmp"
	"slices"
)

// Inlined returns the start of each inlined copy of a function, sorted by offset, by debug
// information. name is as in Find. The result is nil if there is no debug information.
func (f *File) Inlined(name string) ([]Place, error) {
	s := &f.lines
	s.once.Do(func() { s.open(f) })
	if s.dwarf == nil || name == "" {
		return nil, nil
	}
	q := newQuery(name, false)
	s.mu.Lock()
	defer s.mu.Unlock()
	found, err := s.dwarf.Inlined(func(raw string) bool { return raw == name || q.matches(raw) })
	var places []Place
	for _, p := range found {
		if offset, ok := placeIn(f.image, p.Addr); ok {
			places = append(places, Place{Offset: offset, Function: p.Function})
		}
	}
	slices.SortStableFunc(places, func(x, y Place) int { return cmp.Compare(x.Offset, y.Offset) })
	return places, err
}

// GoCallers returns the functions of a Go program that a function was inlined into, sorted. It
// uses Go's function table, which stripped programs keep. name is as in Find. There is no place
// to probe: the compiler merges and moves the code of a copy, so that no instruction is sure to
// run once per call. If no instruction of a copy is left, its caller is missing here.
func (f *File) GoCallers(name string) []string {
	s := &f.lines
	s.once.Do(func() { s.open(f) })
	if s.goTab == nil || name == "" {
		return nil
	}
	q := newQuery(name, true)
	callers := s.goTab.callers(func(raw string) bool { return raw == name || q.matches(raw) })
	slices.Sort(callers)
	return callers
}

// IsInlined reports whether copies of the function that starts at offset were inlined
// elsewhere.
func (f *File) IsInlined(offset uint64) bool {
	s := &f.lines
	s.once.Do(func() { s.open(f) })
	addr, ok := f.image.Vaddr(offset)
	if s.dwarf == nil || !ok {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	e, ok, err := s.dwarf.Subprogram(addr)
	return err == nil && ok && e.IsInlined()
}
