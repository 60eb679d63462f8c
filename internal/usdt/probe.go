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

// maxNotes bounds the bytes of all note sections together, and with them the
// probes of a file. Large programs have some ten thousand.
const maxNotes = 16 << 20

// Read returns the probes of a file in the order of its notes, none if it has no
// notes. With an error, which wraps ErrMalformed where a note makes no sense,
// it returns the probes that could be read all the same.
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

// reader gathers the probes of a file.
type reader struct {
	img     *elfimage.Image
	left    uint64 // bytes of notes that may still be read
	base    uint64
	hasBase bool

	probes   []Probe
	err      error // the first of
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

// identifier tells whether a text is a name as sdt.h makes one of its macro's
// arguments. Other names are no danger, but nobody could type them.
func identifier(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r == ':' || r == 0x7f })
}
