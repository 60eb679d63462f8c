package usdt

import (
	"debug/elf"
	"errors"
	"fmt"
	"strings"

	"github.com/ringtap/ringtap/internal/elfimage"
)

// Probe is one mark. A program may have several of one provider and name: the
// same mark inlined in many places.
type Probe struct {
	Provider, Name string
	Location       uint64 // file offset of the nop
	Semaphore      uint64 // file offset of the 16-bit counter, if Sem
	Sem            bool   // whether the program asks a counter before it computes the arguments
	Args           string // as the note has them: "-4@%edi 8@-16(%rbp)"

	vaddr   uint64            // of the nop, at link time
	globals map[string]uint64 // link-time addresses of the variables that operands name
}

// String is the probe as definitions name it, "provider:name".
func (p Probe) String() string { return p.Provider + ":" + p.Name }

// ErrMalformed is wrapped by the error of Read for notes that make no sense.
var ErrMalformed = errors.New("malformed probe note")

// noteSection is the name of the sections with probes. Notes of programs are
// not loaded, and so no segment has them.
const noteSection = ".note.stapsdt"

// Read returns the probes of a file in the order of its notes, none if it has no
// notes. With an error, which wraps ErrMalformed where a note makes no sense,
// it returns the probes that could be read all the same.
func Read(img *elfimage.Image) ([]Probe, error) {
	base, hasBase := baseAddress(img)
	var probes []Probe
	var errs []error
	for i := range img.Sections {
		s := &img.Sections[i]
		if s.Name != noteSection || s.Type != elf.SHT_NOTE {
			continue
		}
		b, err := img.Bytes(s)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		for n, err := range notes(img, b) {
			if err == nil && hasBase && n.base != 0 {
				n.move(base - n.base)
			}
			var p Probe
			if err == nil {
				p, err = n.probe(img)
			}
			if err != nil {
				errs = append(errs, err)
				continue
			}
			probes = append(probes, p)
		}
	}
	resolve(img, probes)
	return probes, first(errs)
}

// first returns the first error and the number of the others.
func first(errs []error) error {
	switch len(errs) {
	case 0:
		return nil
	case 1:
		return errs[0]
	}
	return fmt.Errorf("%w (and %d more)", errs[0], len(errs)-1)
}

// baseAddress is where the section is that the notes measure from.
func baseAddress(img *elfimage.Image) (addr uint64, ok bool) {
	for i := range img.Sections {
		if img.Sections[i].Name == ".stapsdt.base" {
			return img.Sections[i].Addr, true
		}
	}
	return 0, false
}

// move corrects a note's addresses for a file that was moved by a distance.
func (n *note) move(distance uint64) {
	n.location += distance
	if n.semaphore != 0 {
		n.semaphore += distance
	}
}

// probe turns addresses into file offsets.
func (n *note) probe(img *elfimage.Image) (p Probe, err error) {
	p = Probe{Provider: n.provider, Name: n.name, Args: n.args, vaddr: n.location}
	var ok bool
	if p.Location, ok = img.Offset(n.location); !ok || !img.Executable(n.location) {
		return p, fmt.Errorf("%w: %s is at %#x, where the file has no code", ErrMalformed, p, n.location)
	}
	if p.Sem = n.semaphore != 0; p.Sem {
		if p.Semaphore, ok = img.Offset(n.semaphore); !ok {
			return p, fmt.Errorf("%w: the semaphore of %s is at %#x, which is not in the file", ErrMalformed, p, n.semaphore)
		}
	}
	return p, nil
}

// identifier tells whether a text is a name as sdt.h makes one of its macro's
// arguments. Other names are no danger, but nobody could type them.
func identifier(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r == ':' || r == 0x7f })
}
