package symbols

import (
	"cmp"
	"slices"
)

// Inlined returns where each copy of a function begins that the compiler inlined into another
// function, sorted by offset, by debug information. The name is as in Find. Without debug
// information it is nil.
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

// GoCallers returns the functions of a Go program that a function was inlined into, sorted, by
// the table that stripped programs have too. The name is as in Find. The compiler merges and
// moves the code of a copy, so that none of its instructions is sure to run once for each call,
// and a copy may have none left: then its caller is missing here.
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

// IsInlined reports whether the function that begins at offset was inlined somewhere as well.
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
