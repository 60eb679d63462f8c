package interp

import (
	"github.com/ringtap/ringtap/internal/object/buildid"
	"github.com/ringtap/ringtap/internal/object/elfimage"
)

// Cache keeps what is found in the code of files, for later processes with the same files. Programs of
// some interpreters run for less time than it takes to decode the interpreter's loop. The zero value
// is empty. Only one goroutine may use it.
type Cache struct{ files map[string]finds } // by build id

// maxCachedFiles bounds the files in a Cache. A host has few interpreters.
const maxCachedFiles = 64

// finds are the results of searches in a file.
type finds map[find][]extent

// find is a search in the code of a function.
type find struct {
	what searched
	in   extent
}

// searched says what a search is for.
type searched int

const (
	foundPieces searched = iota
	foundCore
	foundHandlers
	foundRunner
)

// of returns the finds of a file, to which the caller may add. It returns nil for a file without a
// build id.
func (c *Cache) of(image *elfimage.Image) finds {
	id := string(buildid.OfImage(image))
	if id == "" {
		return nil
	}
	f := c.files[id]
	if f == nil {
		if c.files == nil || len(c.files) == maxCachedFiles {
			c.files = make(map[string]finds)
		}
		f = make(finds)
		c.files[id] = f
	}
	return f
}

// search returns what search finds in a function, or what it has found before.
func (m *Module) search(what searched, function Symbol, search func(in extent) []extent) []extent {
	in := extent{function.Addr - m.Bias, function.Addr - m.Bias + function.Size}
	if m.finds == nil && m.cache != nil {
		m.finds, m.cache = m.cache.of(m.Image), nil
	}
	if m.finds == nil {
		return search(in)
	}
	found, ok := m.finds[find{what, in}]
	if !ok {
		found = search(in)
		m.finds[find{what, in}] = found
	}
	return found
}

// spans returns the spans of extents.
func (m *Module) spans(all []extent) (spans Spans) {
	for _, e := range all {
		spans = append(spans, m.Span(m.symbolOf(e)))
	}
	return spans
}

// symbolOf returns the function of an extent.
func (m *Module) symbolOf(e extent) Symbol {
	return Symbol{Addr: e.start + m.Bias, Size: e.end - e.start}
}
