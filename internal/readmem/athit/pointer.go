package athit

import (
	"encoding/binary"

	"github.com/ringtap/ringtap/internal/arch"
	"github.com/ringtap/ringtap/perfevent"
)

// An Event says what is read at the hits of one sampling.
type Event struct {
	Pointers []Pointer
	Saves    []Pointer // each is saved in its slot Pointer.Saved, for later hits of the thread at any event
}

// A Pointer says where a hit has a pointer, and which bytes are read where it leads.
type Pointer struct {
	// Offset is where the raw record of the hit has the pointer, 8 bytes, unless InRegister is set.
	Offset int
	// InRegister says that a user register has the pointer. Register is its number in the kernel's
	// perf_regs.h.
	InRegister bool
	Register   int
	// Saved, if not 0, is the slot that has the pointer, from 1: the thread's last hit with this slot in
	// Event.Saves has saved it.
	Saved int
	// Path leads from the pointer to the bytes. Each offset but the last one leads to another pointer.
	// An empty path is a single 0.
	Path []int64
	// Vector says that Path leads to pointers to texts, up to a null pointer.
	Vector bool
	// Raw says that Path leads to Limit bytes, not to a text that ends with a zero. Fewer are found if not all
	// can be read.
	Raw bool
	// Next, with Raw, has the offsets of pointers to more nodes of the same kind: the links of a list or a
	// tree. Up to MaxNodes nodes are read, each once, and each is a Found of its own.
	Next []int64
	// Leaves, with Next, has the offsets of pointers to LeafLimit other bytes.
	Leaves    []int64
	LeafLimit int
	// Limit bounds the bytes of a text. In a vector, no text is read after the first 2*Limit bytes.
	Limit int

	// AtArrival makes Seen read the bytes too, for hits that the helper does not read.
	AtArrival bool
	// Recorded, if not nil, reports whether a record already has all the bytes, so that Seen need not read them.
	Recorded func(raw []byte) bool
	// NoHelper keeps the helper from reading the bytes.
	NoHelper bool
	// Fetched, if not 0, is the offset of a __data_loc in the record, and Full is the size of a record that has
	// no room for more. The helper does not read a text that the kernel has fetched whole: see Whole.
	Fetched, Full int
}

// Certainty says how certain it is that a pointer led to these bytes at the hit. Higher is more certain.
type Certainty uint8

// The certainties.
const (
	Unknown  Certainty = iota // not read
	Late                      // read when the record came or later: the thread may have changed it by then
	Near                      // read by the helper soon after the hit, but the thread may have run in between
	Exact                     // read while the thread was stopped at the hit, or from the copy of the stack
	Recorded                  // in the kernel's record (see Pointer.Recorded), so not read
)

// Found is what a pointer led to.
type Found struct {
	Addr      uint64 // the pointer's value, where Path starts
	Read      bool   // Bytes could be read
	Bytes     []byte // a text without its zero, or the texts of a vector, each with its zero
	Cut       bool   // the text goes on after Bytes
	Certainty Certainty
}

// value returns the pointer's value in a sample, false if the sample does not have it.
func (p *Pointer) value(s *perfevent.Sample) (uint64, bool) {
	if p.InRegister {
		return s.Regs.Value(p.Register)
	}
	if p.Offset < 0 || p.Offset+8 > len(s.Raw) {
		return 0, false
	}
	return binary.NativeEndian.Uint64(s.Raw[p.Offset:]), true
}

// StackBytes is how many bytes of the stack a sample of a hit with pointers should copy. A function often passes the
// address of a local variable to a system call. A program's arguments are further up the stack, but ringtap could not
// read a storm of larger records in time.
const StackBytes = 2 << 10

// StackCopy returns the user stack from addr on as it was at the hit, nil if the sample's copy does not
// have it. It belongs to the sample.
func StackCopy(s *perfevent.Sample, addr uint64) []byte {
	sp, ok := s.Regs.Value(int(arch.Here.SP.Perf))
	if from := addr - sp; ok && from < uint64(len(s.Stack)) {
		return s.Stack[from:]
	}
	return nil
}

// Whole reports whether raw has all of a text that the kernel fetched. offset is where raw has the text's
// __data_loc. full is the size of a record that has no room for more.
func Whole(raw []byte, offset, full int) bool {
	if len(raw) < offset+4 {
		return false
	}
	where := binary.NativeEndian.Uint32(raw[offset:])
	from, length := int(where&0xffff), int(where>>16)
	return length > 0 && from+length < full
}
