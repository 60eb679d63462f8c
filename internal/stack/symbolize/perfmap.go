package symbolize

import (
	"time"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/symbols"
)

// perfMap is a perf map as it was at one time.
type perfMap struct {
	*symbols.PerfMap // nil if it can't be read
	read             time.Time
	took             time.Duration
}

// fresh is how long a perf map stays valid: a process may replace code, though it seldom does.
// Reading it may take one part in readingShare of the time.
const (
	fresh        = time.Second
	readingShare = 20
)

// perfMap returns the perf map of a frame's object. A map grows while its process runs, so it is
// read again for each profile. Maps have megabytes, so with CachePerfMaps it is read again only
// when it is stale.
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

// stale reports whether to read a map again for addr: it is old or does not have the address, and
// reading takes little of the time.
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
