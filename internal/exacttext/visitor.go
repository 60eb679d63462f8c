package exacttext

import (
	"bytes"
	"encoding/binary"
	"encoding/gob"
	"fmt"
	"slices"

	"github.com/ringtap/ringtap/perfevent/near"
)

// Visitor is the name of NewVisitors for near.Serve.
const Visitor = "texts"

// Text says which text is read at a hit.
type Text struct {
	// Offset is where the raw record of the hit has the pointer to it, 8 bytes, unless
	// InRegister is set.
	Offset int
	// InRegister says that a user register has the pointer: the one of that number in the
	// kernel's perf_regs.h.
	InRegister bool
	Register   int
	// Kept says that the pointer is the one that the thread's last hit has kept in this slot,
	// counted from 1 (see Sampling.Keeps); 0 says nothing.
	Kept int
	// Path leads from the pointer to the text. Each offset but the last one leads to another
	// pointer, and the last one to the text; none is 0.
	Path []int64
	// Fetched, unless it is 0, is where the record tells what the kernel fetched of the text
	// (__data_loc), and Full is where a record ends that has no room for more. What the
	// kernel fetched whole is not read.
	Fetched, Full int
	// Vector says that the pointer leads to pointers to texts, up to a null pointer.
	Vector bool
	// Raw says that the pointer leads to bytes, of which zero is one. As many as can be read are.
	Raw bool
	// Next says, with Raw, where the bytes have pointers to further bytes of the same kind, as those of a list or a
	// tree have: up to MaxNodes in all, each a Found of its own, until a pointer is 0. Each pointer is followed once.
	Next []int64
	// Leaves says, with Next, where the bytes have pointers to LeafLimit other bytes, which lead no further.
	Leaves    []int64
	LeafLimit int
	// Limit is how many bytes are read of a text; those of a vector together are no
	// more than twice that.
	Limit int
}

// A Keep is a register whose value a hit keeps for later hits of its thread.
type Keep struct {
	Slot int // from 1
	// Where the pointer is, as in Text.
	Offset     int
	InRegister bool
	Register   int
}

// wanted is what is done at the hits of a sampling.
type wanted struct {
	Texts []Text
	Keeps []Keep
}

// NewVisitors returns what makes the visitors of all CPUs.
func NewVisitors() near.New {
	kept := &keptValues{}
	return func(config []byte) (near.Visitor, error) {
		v := &visitor{kept: kept}
		if err := gob.NewDecoder(bytes.NewReader(config)).Decode(&v.wanted); err != nil {
			return nil, fmt.Errorf("read which texts are wanted: %w", err)
		}
		kept.makeRoom(v.wanted)
		return v, nil
	}
}

// encode is what NewVisitors decodes: what is wanted at each sampling.
func encode(all []wanted) ([]byte, error) {
	var b bytes.Buffer
	if err := gob.NewEncoder(&b).Encode(all); err != nil {
		return nil, fmt.Errorf("say which texts are wanted: %w", err)
	}
	return b.Bytes(), nil
}

// maxElements is how many texts of a vector are read.
const maxElements = 32

// visitor keeps the texts of a hit. Behind the bytes of each it keeps a trailer: of a length
// that is not known before, there can be no header.
type visitor struct {
	wanted   []wanted // by sampling
	kept     *keptValues
	pointers [maxElements + 1]uint64
	zero     [1]byte
	found    []uint64 // room for nodes
}

// Visit implements near.Visitor.
func (t *visitor) Visit(v *near.Visit) error {
	for _, k := range t.wanted[v.Sample.Sampling].Keeps {
		t.kept.keep(k.Slot, v.Sample.TID, pointerAt(v, k.InRegister, k.Register, k.Offset))
	}
	texts := t.wanted[v.Sample.Sampling].Texts
	for i := range texts {
		pointer := texts[i].pointer(v, t.kept)
		length, state := 0, unread
		addr, err := t.follow(v, pointer, texts[i].Path)
		switch {
		case err == near.ErrMemory:
			err = nil
		case err != nil, addr == 0, texts[i].wasFetched(v.Sample.Raw):
		case len(texts[i].Next) > 0:
			if err := t.nodes(v, addr, &texts[i]); err != nil {
				return err
			}
			continue
		case texts[i].Raw:
			length, state, err = t.raw(v, addr, texts[i].Limit)
		case texts[i].Vector:
			length, state, err = t.vector(v, addr, texts[i].Limit)
		default:
			length, state, err = t.text(v, addr, texts[i].Limit)
		}
		if err == nil {
			err = end(v, pointer, length, state)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// end keeps the trailer of a text.
func end(v *near.Visit, pointer uint64, length int, s state) error {
	if err := v.KeepWord(pointer); err != nil {
		return err
	}
	return v.KeepWord(uint64(length)<<8 | uint64(s))
}

// MaxNodes is how many times bytes are read by Text.Next.
const MaxNodes = 128

// nodes keeps the bytes at an address, and at the addresses that they lead to.
func (t *visitor) nodes(v *near.Visit, addr uint64, of *Text) error {
	t.found = append(t.found[:0], addr)
	for i := 0; i < len(t.found); i++ {
		node := t.found[i]
		length, state, err := t.raw(v, node, of.Limit)
		if err == nil {
			err = end(v, node, length, state)
		}
		if err != nil {
			return err
		}
		for _, offset := range of.Leaves {
			if err := t.leaf(v, node+uint64(offset), of.LeafLimit); err != nil {
				return err
			}
		}
		for _, offset := range of.Next {
			next, err := t.word(v, node+uint64(offset))
			if err != nil && err != near.ErrMemory {
				return err
			}
			if err == nil && next != 0 && len(t.found) < MaxNodes && !slices.Contains(t.found, next) {
				t.found = append(t.found, next)
			}
		}
	}
	return nil
}

// leaf keeps the bytes that the pointer at an address points to.
func (t *visitor) leaf(v *near.Visit, addr uint64, limit int) error {
	pointer, err := t.word(v, addr)
	if err == near.ErrMemory || err == nil && pointer == 0 {
		return nil
	}
	if err != nil {
		return err
	}
	length, state, err := t.raw(v, pointer, limit)
	if err != nil {
		return err
	}
	return end(v, pointer, length, state)
}

// pointer is what leads to the text.
func (t *Text) pointer(v *near.Visit, kept *keptValues) uint64 {
	if t.Kept > 0 {
		return kept.of(t.Kept, v.Sample.TID)
	}
	return pointerAt(v, t.InRegister, t.Register, t.Offset)
}

// pointerAt is a pointer in a register, or at an offset in the record; 0 if it is not there.
func pointerAt(v *near.Visit, inRegister bool, register, offset int) uint64 {
	if inRegister {
		return v.Register(register)
	}
	if offset < 0 || offset+8 > len(v.Sample.Raw) {
		return 0
	}
	return binary.NativeEndian.Uint64(v.Sample.Raw[offset:])
}

// wasFetched tells whether the kernel has all of the text.
func (t *Text) wasFetched(raw []byte) bool { return t.Fetched > 0 && Whole(raw, t.Fetched, t.Full) }

// Whole tells whether a record has all of a text that the kernel fetched, by what it tells of
// it (__data_loc) at an offset. full is where a record ends that has no room for more.
func Whole(raw []byte, at, full int) bool {
	if len(raw) < at+4 {
		return false
	}
	where := binary.NativeEndian.Uint32(raw[at:])
	from, length := int(where&0xffff), int(where>>16)
	return length > 0 && from+length < full
}

// follow goes from a pointer to a text.
func (t *visitor) follow(v *near.Visit, addr uint64, path []int64) (uint64, error) {
	for i, offset := range path {
		addr += uint64(offset)
		if i == len(path)-1 {
			break
		}
		var err error
		if addr, err = t.word(v, addr); err != nil {
			return 0, err
		}
	}
	return addr, nil
}

// text keeps a text without its zero, or its first limit bytes, and says how many bytes that
// was. The text of a pointer that leads nowhere is no error.
func (t *visitor) text(v *near.Visit, addr uint64, limit int) (length int, s state, err error) {
	for length < limit {
		b, err := v.PeekPage(addr)
		if err == near.ErrMemory {
			return length, unread, nil
		}
		if err != nil {
			return length, unread, err
		}
		b = b[:min(len(b), limit-length)]
		end := bytes.IndexByte(b, 0)
		if end >= 0 {
			b = b[:end]
		}
		if err := v.Keep(b); err != nil {
			return length, unread, err
		}
		length += len(b)
		if end >= 0 {
			return length, whole, nil
		}
		addr += uint64(len(b))
	}
	return length, cut, nil
}

// raw keeps bytes, up to limit or to the first that can't be read.
func (t *visitor) raw(v *near.Visit, addr uint64, limit int) (length int, s state, err error) {
	for length < limit {
		b, err := v.PeekPage(addr)
		if err == near.ErrMemory {
			break
		}
		if err != nil {
			return length, unread, err
		}
		b = b[:min(len(b), limit-length)]
		if err := v.Keep(b); err != nil {
			return length, unread, err
		}
		length += len(b)
		addr += uint64(len(b))
	}
	if length == 0 {
		return 0, unread, nil
	}
	return length, cut, nil
}

// vector keeps the texts that the pointers at addr point to, each with a zero.
func (t *visitor) vector(v *near.Visit, addr uint64, limit int) (length int, s state, err error) {
	n := 0
	for ; n < len(t.pointers); n++ {
		p, err := t.word(v, addr+8*uint64(n))
		if err == near.ErrMemory {
			return 0, unread, nil
		}
		if err != nil {
			return 0, unread, err
		}
		if t.pointers[n] = p; p == 0 {
			break
		}
	}
	for _, p := range t.pointers[:min(n, maxElements)] {
		if length >= 2*limit {
			return length, cut, nil
		}
		one, state, err := t.text(v, p, limit)
		length += one
		if state == whole || state == cut {
			err = v.Keep(t.zero[:])
			length++
		}
		if err != nil || state == unread {
			return length, unread, err
		}
	}
	if n > maxElements {
		return length, cut, nil
	}
	return length, whole, nil
}

// word reads a word that may lie in two pages.
func (t *visitor) word(v *near.Visit, addr uint64) (uint64, error) {
	if b, err := v.Peek(addr, 8); err == nil {
		return binary.NativeEndian.Uint64(b), nil
	}
	return v.Word(addr)
}

// room is the most that the texts of a hit take as they are kept.
func room(texts []Text) int {
	n := 0
	for _, t := range texts {
		if len(t.Next) > 0 {
			n += (MaxNodes-1)*(t.Limit+trailer) + MaxNodes*len(t.Leaves)*(t.LeafLimit+trailer)
		}
		n += t.Limit + trailer
		if t.Vector {
			n += 2*t.Limit + maxElements
		}
	}
	return n
}
