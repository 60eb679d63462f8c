package stack

import (
	"encoding/binary"
	"slices"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/readmem/atsample"
	"github.com/ringtap/ringtap/perfevent"
)

// cross starts reading the other stacks of p at its next samples. user is a stack that lacks callers at
// a switch, and known is what was read at its sample.
func (s *Store) cross(p *process.Process, user *User, known *atsample.Calls) {
	if s.runtimes.reader == nil || !user.Kept {
		return
	}
	h := s.runtimes.hosted(s.processes.Host(), p)
	if c := &h.crossed; c.version != p.Version() || c.stack != user.ID {
		c.crossings = crossingsOf(p, s.Stack(user.ID).Frames)
		c.version, c.stack = p.Version(), user.ID
	}
	if len(h.crossed.crossings) > 0 {
		h.crosses = true
		s.runtimes.reader.FollowSwitches(p, h.crossed.crossings, known)
	}
}

// crossed has the crossings of a process's last marked stack.
type crossed struct {
	version   uint64 // of the process's mappings; 0: there was no marked stack
	stack     callchain.StackID
	crossings []callchain.Crossing
}

// crossingsOf returns the crossings in the objects of frames: code that continues on another stack.
// Their addresses are those in p.
func crossingsOf(p *process.Process, frames []callchain.Frame) (all []callchain.Crossing) {
	var seen []callchain.ObjectID
	for i := range frames {
		seen = append(seen, frames[i].Object)
	}
	slices.Sort(seen)
	seen = slices.Compact(seen)
	for m := range p.Mapped {
		if m.Object.Kind != process.File {
			continue
		}
		if _, isOne := slices.BinarySearch(seen, m.Object.ID); !isOne {
			continue
		}
		mapping, _ := p.Find(m.Start)
		if mapping.Table == nil {
			continue
		}
		for _, c := range mapping.Table.Crossings() {
			if c.Start-m.Offset < m.End-m.Start {
				all = append(all, callchain.Crossing{Start: c.Start - m.Offset + m.Start, End: c.End - m.Offset + m.Start, IntoGo: c.IntoGo})
			}
		}
	}
	return all
}

// others has what is known about the stacks of a thread at a sample.
type others struct {
	sp    uint64
	stack []byte // the copy
	read  *atsample.Calls
	room  []byte
}

// of returns a callchain.Capture.Other for a sample; nil if nothing was read of other stacks.
func (o *others) of(sample *perfevent.Sample, read *atsample.Calls) func(sp uint64) []byte {
	if len(read.Others) == 0 && len(read.Goroutines) == 0 {
		return nil
	}
	_, o.sp, _, _ = callchain.Host().Frame(sample.Regs.Mask, sample.Regs.Values)
	o.stack, o.read = sample.Stack, read
	return o.at
}

// at returns what is known about the memory from addr on: a part of a stack or, for a runtime.g,
// the bounds of its stack.
func (o *others) at(addr uint64) []byte {
	o.room = o.room[:0]
	if off := addr - o.sp; off < uint64(len(o.stack)) {
		o.room = append(o.room, o.stack[off:]...)
		addr = o.sp + uint64(len(o.stack))
		return o.append(&o.read.Beyond.Stretch, addr)
	}
	for i := range o.read.Goroutines {
		if g := &o.read.Goroutines[i]; g.Addr == addr {
			return binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(o.room, g.Low), g.High)
		}
	}
	for i := range o.read.Others {
		if o.append(&o.read.Others[i], addr); len(o.room) > 0 {
			return o.room
		}
	}
	if o.append(&o.read.Beyond.Stretch, addr); len(o.room) > 0 {
		return o.room
	}
	return o.append(&o.read.Beyond.Top, addr)
}

// append appends the memory of s from addr on.
func (o *others) append(s *callchain.Stretch, addr uint64) []byte {
	off := addr - s.From
	if off >= uint64(len(s.Pages))*callchain.PageSize {
		return o.room
	}
	for _, page := range s.Pages[off/callchain.PageSize:] {
		o.room = append(o.room, page[off%callchain.PageSize:]...)
		off = 0
	}
	return o.room
}
