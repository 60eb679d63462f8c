package athit

import (
	"bytes"
	"encoding/gob"
	"fmt"
	"slices"

	"github.com/ringtap/ringtap/internal/readmem/helper"
)

// Visitor is the name of NewVisitors for helper.Serve.
const Visitor = "texts"

// NewVisitors returns the constructor of the visitors, one for each CPU, which read memory in the helper.
func NewVisitors() helper.NewVisitor {
	saved := &savedPointers{}
	return func(config []byte) (helper.Visitor, error) {
		v := &visitor{saved: saved}
		v.memory = &v.stopped
		if err := gob.NewDecoder(bytes.NewReader(config)).Decode(&v.events); err != nil {
			return nil, fmt.Errorf("decode the pointers to read: %w", err)
		}
		saved.makeRoom(v.events)
		return v, nil
	}
}

// encode returns the configuration that NewVisitors decodes.
func encode(events []Event) ([]byte, error) {
	var b bytes.Buffer
	if err := gob.NewEncoder(&b).Encode(events); err != nil {
		return nil, fmt.Errorf("encode the pointers to read: %w", err)
	}
	return b.Bytes(), nil
}

// visitor runs in the helper. At each hit it keeps what the pointers lead to, in the form of packed.go.
type visitor struct {
	walker
	events  []Event // by the helper's sampling
	saved   *savedPointers
	stopped stopped
	nodes   []uint64 // for walk, reused
}

// stopped is the memory of a thread that is stopped at its hit.
type stopped struct{ *helper.Visit }

// Word implements memory. It makes no system call if the visit's last page has the word.
func (v *stopped) Word(addr uint64) (uint64, error) {
	if b, err := v.Peek(addr, 8); err == nil {
		return wordOf(b), nil
	}
	return v.Visit.Word(addr)
}

// Visit implements helper.Visitor.
func (t *visitor) Visit(v *helper.Visit) error {
	t.stopped.Visit = v
	event := &t.events[v.Sample.Sampling]
	for i := range event.Saves {
		value, _ := event.Saves[i].value(v.Sample)
		t.saved.save(event.Saves[i].Saved, v.Sample.TID, value)
	}
	for i := range event.Pointers {
		if err := t.visit(&event.Pointers[i]); err != nil {
			return err
		}
	}
	return nil
}

// visit keeps what one pointer leads to.
func (t *visitor) visit(p *Pointer) error {
	sample := t.stopped.Sample
	pointer, _ := p.value(sample)
	if p.Saved > 0 {
		pointer = t.saved.of(p.Saved, sample.TID)
	}
	length, s := 0, unread
	addr, err := t.follow(pointer, p.Path)
	switch {
	case err == helper.ErrMemory:
		err = nil
	case err != nil, addr == 0, p.NoHelper, p.Fetched > 0 && Whole(sample.Raw, p.Fetched, p.Full):
	case len(p.Next) > 0:
		return t.walk(p, addr)
	default:
		length, s, err = t.at(p, addr)
	}
	return t.end(pointer, length, s, err)
}

// end keeps the trailer of the bytes that were kept. If keeping them failed, it returns that error.
func (t *visitor) end(pointer uint64, length int, s state, err error) error {
	if err == nil {
		err = t.stopped.KeepWord(pointer)
	}
	if err == nil {
		err = t.stopped.KeepWord(uint64(length)<<8 | uint64(s))
	}
	return err
}

// MaxNodes is how many nodes of a list or a tree are read.
const MaxNodes = 128

// walk keeps the bytes at addr, and at the addresses that p.Next and p.Leaves lead to.
func (t *visitor) walk(p *Pointer, addr uint64) error {
	t.nodes = append(t.nodes[:0], addr)
	for i := 0; i < len(t.nodes); i++ {
		node := t.nodes[i]
		length, s, err := t.run(node, p.Limit, true)
		if err := t.end(node, length, s, err); err != nil {
			return err
		}
		for _, offset := range p.Leaves {
			leaf, err := t.wordOrZero(node + uint64(offset))
			if err == nil && leaf != 0 {
				length, s, err = t.run(leaf, p.LeafLimit, true)
				err = t.end(leaf, length, s, err)
			}
			if err != nil {
				return err
			}
		}
		for _, offset := range p.Next {
			next, err := t.wordOrZero(node + uint64(offset))
			if err != nil {
				return err
			}
			if next != 0 && len(t.nodes) < MaxNodes && !slices.Contains(t.nodes, next) {
				t.nodes = append(t.nodes, next)
			}
		}
	}
	return nil
}

// wordOrZero returns the 8 bytes at addr, or 0 if they can't be read.
func (t *visitor) wordOrZero(addr uint64) (uint64, error) {
	word, err := t.Word(addr)
	if err == helper.ErrMemory {
		return 0, nil
	}
	return word, err
}

// room returns how many bytes the visitor keeps of a hit at most.
func room(pointers []Pointer) int {
	n := 0
	for _, p := range pointers {
		if len(p.Next) > 0 {
			n += (MaxNodes-1)*(p.Limit+trailer) + MaxNodes*len(p.Leaves)*(p.LeafLimit+trailer)
		}
		n += p.Limit + trailer
		if p.Vector {
			n += 2*p.Limit + maxElements*len(cutTextEnd)
		}
	}
	return n
}
