package symbolize

import (
	"time"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/symbols"
)

// perfMap is a perf map as it was at a time.
type perfMap struct {
	*symbols.PerfMap // nil if it can't be read
	read             time.Time
	took             time.Duration
}

// fresh is how long a perf map is believed, and readingShare the part of the time,
// one of so many, that reading it may take. Code that a process compiles takes the
// place of other code, though seldom.
const (
	fresh        = time.Second
	readingShare = 20
)

// perfMap reads the perf map of an object, where a frame is. A map grows while its
// process runs, so that it is read for each profile; but it has megabytes.
func (s *Symbolizer) perfMap(f callchain.Frame, image *stack.Image) *symbols.PerfMap {
	m, known := s.maps[f.Object]
	if known && !m.stale(f.Offset) {
		return m.PerfMap
	}
	m.read = time.Now()
	var err error
	if m.PerfMap, err = symbols.ReadPerfMap(image.PerfMap, 0); err != nil {
		s.opts.Logger.Info("no perf map", "pid", image.PID, "error", err)
	}
	m.took = time.Since(m.read)
	if s.opts.CachePerfMaps {
		s.maps[f.Object] = m
	}
	return m.PerfMap
}

// stale tells whether a map is to be read again for an address: when it is old, or
// does not know the address, and reading it takes little of the time.
func (m *perfMap) stale(addr uint64) bool {
	age := time.Since(m.read)
	if age < readingShare*m.took {
		return false
	}
	if age > fresh || m.PerfMap == nil {
		return true
	}
	_, named := m.Lookup(addr)
	return !named
}
