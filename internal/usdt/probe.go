package usdt

import (
	"errors"

	"github.com/ringtap/ringtap/internal/elfimage"
)

// Probe is one place of a file where a probe is marked.
type Probe struct {
	Provider, Name string
	Location       uint64 // file offset of the instruction
	Base           uint64 // address of .stapsdt.base when the note was written
	Semaphore      uint64 // file offset of the 16-bit counter that must be above zero
	Sem            bool   // whether there is one
	Args           string // as the note has it: "-4@%edi 8@-16(%rbp)"
}

// Read returns the probes of a file, in the order of its notes.
func Read(img *elfimage.Image) ([]Probe, error) {
	return nil, errors.New("usdt.Read: not yet")
}
