package streams

import (
	"bytes"
	"io"
)

// Held holds back what is written until Release, as perf-tools does with -d. If
// that exceeds Limit, it writes everything immediately and holds back nothing more.
type Held struct {
	To    io.Writer
	Limit int // bytes; 0 holds back nothing
	lines bytes.Buffer
}

// MaxHeld is how many bytes a tracer holds back at most.
const MaxHeld = 256 << 20

// Write holds b back, or writes it to To if Limit is exceeded.
func (h *Held) Write(b []byte) (int, error) {
	if h.lines.Len()+len(b) <= h.Limit {
		return h.lines.Write(b)
	}
	h.Limit = 0
	if err := h.Release(); err != nil {
		return 0, err
	}
	return h.To.Write(b)
}

// Release writes what was held back.
func (h *Held) Release() error {
	_, err := h.lines.WriteTo(h.To)
	return err
}
