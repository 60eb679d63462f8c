package usdt

import (
	"debug/elf"
	"errors"
	"fmt"
	"strings"

	"github.com/ringtap/ringtap/internal/object/elfimage"
)

// Probe is one mark. A program may have several with the same provider and name: one mark
// inlined in many places.
type Probe struct {
	Provider, Name string
	Location       uint64 // file offset of the nop
	Semaphore      uint64 // file offset of the 16-bit counter, if Sem
	Sem            bool   // whether the program checks a counter before it computes the arguments
	Args           string // as in the note: "-4@%edi 8@-16(%rbp)"

	vaddr   uint64            // of the nop, at link time
	globals map[string]uint64 // link-time addresses of the variables in operands
}

// String returns the probe as written in definitions, "provider:name".
func (p Probe) String() string { return p.Provider + ":" + p.Name }

// ErrMalformed is wrapped by Read's error for notes that make no sense.
var ErrMalformed = errors.New("malformed probe note")

// noteSection is the name of the sections with probes. These notes are not loaded, and so are
// in no segment.
const noteSection = ".note.stapsdt"

// maxNotes bounds the total size of all note sections in bytes, and so the probes of a file.
// Large programs have about ten thousand.
const maxNotes = 16 << 20

// Read returns the probes of a file in the order of its notes, or none if it has no notes. If
// some can't be read, it returns the others and an error. The error wraps ErrMalformed if a
// note makes no sense.
func Read(img *elfimage.Image) ([]Probe, error) {
	r := reader{img: img, left: maxNotes}
	r.base, r.hasBase = baseAddress(img)
	for i := range img.Sections {
		if s := &img.Sections[i]; s.Name == noteSection && s.Type == elf.SHT_NOTE {
			r.section(s)
		}
	}
	resolve(img, r.probes)
	if r.failures > 1 {
		return r.probes, fmt.Errorf("%w (and %d more)", r.err, r.failures-1)
	}
	return r.probes, r.err
}

// reader collects the probes of a file.
type reader struct {
	img     *elfimage.Image
	left    uint64 // how many more bytes of notes may be read
	base    uint64
	hasBase bool

	probes   []Probe
	err      error // the first error
	failures int
}

func (r *reader) fail(err error) {
	if r.failures++; r.failures == 1 {
		r.err = err
	}
}

// section reads the notes of one section.
func (r *reader) section(s *elf.SectionHeader) {
	b, err := r.img.Read(s.Offset, s.Size, r.left)
	if err != nil {
		r.fail(fmt.Errorf("read section %s: %w", s.Name, err))
		return
	}
	r.left -= uint64(len(b))
	for n, err := range notes(r.img, b) {
		if err != nil {
			r.fail(err)
			continue
		}
		if r.hasBase && n.base != 0 {
			n.move(r.base - n.base)
		}
		p, err := n.probe(r.img)
		if err != nil {
			r.fail(err)
			continue
		}
		r.probes = append(r.probes, p)
	}
}

// baseAddress returns the address of the section that notes are relative to.
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

// probe converts addresses to file offsets.
func (n *note) probe(img *elfimage.Image) (p Probe, err error) {
	p = Probe{Provider: n.provider, Name: n.name, Args: n.args, vaddr: n.location}
	var ok bool
	if p.Location, ok = img.Offset(n.location); !ok || !img.Executable(n.location) || p.Location >= uint64(img.Size) {
		return p, fmt.Errorf("%w: %s is at %#x, where the file has no code", ErrMalformed, p, n.location)
	}
	if p.Sem = n.semaphore != 0; p.Sem {
		if p.Semaphore, ok = img.Offset(n.semaphore); !ok || p.Semaphore >= uint64(img.Size) {
			return p, fmt.Errorf("%w: the semaphore of %s is at %#x, which is not in the file", ErrMalformed, p, n.semaphore)
		}
	}
	return p, nil
}

// identifier reports whether a text is a name that sdt.h can produce from a macro argument.
// Other names do no harm, but nobody could type them.
func identifier(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r == ':' || r == 0x7f })
}
