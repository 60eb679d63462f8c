package main

import (
	"bytes"
	"io"
)

// held holds back what is written until release, as perf-tools' -d does. Past
// its limit it writes everything at once and holds back nothing more.
type held struct {
	to    io.Writer
	limit int // bytes
	lines bytes.Buffer
}

// maxHeld is how much a tracer holds back at most.
const maxHeld = 256 << 20

func (h *held) Write(b []byte) (int, error) {
	if h.lines.Len()+len(b) <= h.limit {
		return h.lines.Write(b)
	}
	h.limit = 0
	if err := h.release(); err != nil {
		return 0, err
	}
	return h.to.Write(b)
}

// release writes what was held back.
func (h *held) release() error {
	_, err := h.lines.WriteTo(h.to)
	return err
}
