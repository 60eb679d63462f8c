package memleak

import (
	"encoding/binary"
	"math"
	"math/bits"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/allocator"
	"github.com/ringtap/ringtap/internal/pair"
	"github.com/ringtap/ringtap/internal/table"
	"github.com/ringtap/ringtap/perfevent"
)

// leakCall is a call of an allocator under way.
type leakCall struct {
	function *allocator.Function
	inner    bool   // another call is around it
	kept     bool   // it is sampled
	caller   caller // only if kept
	size     uint64
	pointer  uint64
	reserves bool   // it maps address space that takes no memory
	stack    bool   // it maps a thread's stack
	goHeap   bool   // it maps a part of Go's heap
	align    uint64 // the address is a multiple of; 0: not known
	address  uint64 // that the last call inside it has returned; 0: none

	freed     allocation // by a reallocation, to be put back if that fails
	freedSite siteKey
}

// longCall is how long a call of an allocator may last, in nanoseconds. One that
// seems to go on was seen to begin and not to end, and is around nothing.
const longCall = uint64(time.Second)

// inside tells whether a call is inside of another one.
func (c *Collector) inside(task pair.Task, slot uint64, f *allocator.Function, now uint64) bool {
	for {
		around := c.calls.Around(task, slot)
		if around == nil {
			return false
		}
		// A function that ends in a jump to another shares its frame with it, but
		// not with itself.
		if now-around.Start < longCall && (around.Slot != slot || around.Payload.function != f) {
			return true
		}
		if ended, ok := c.calls.Leave(task, 0, around.Slot, now); ok {
			c.recycle(ended.Payload)
		}
	}
}

// call makes a call, of those that are over.
func (c *Collector) call(f *allocator.Function, inner bool) *leakCall {
	call := &leakCall{}
	if n := len(c.spare); n > 0 {
		call, c.spare = c.spare[n-1], c.spare[:n-1]
	}
	*call = leakCall{function: f, inner: inner}
	return call
}

// maxSpare is how many calls that are over are kept to be used again.
const maxSpare = 1024

func (c *Collector) recycle(call *leakCall) {
	if len(c.spare) < maxSpare {
		c.spare = append(c.spare, call)
	}
}

// begun takes a call that begins and is inside of no other.
func (c *Collector) begun(rows *table.Rows, s *perfevent.Sample, call *leakCall) {
	f := call.function
	call.size = argumentOf(s, f.Size)
	if f.Times != 0 {
		if more, product := bits.Mul64(call.size, argumentOf(s, f.Times)); more == 0 {
			call.size = product
		} else {
			call.size = math.MaxUint64 // it will fail, and frees nothing, as a size of 0 may
		}
	}
	call.pointer = argumentOf(s, f.Pointer+f.Through) // it has one of them at most
	call.align = argumentOf(s, f.Align)
	if f.Effect == allocator.Reallocates && call.pointer != 0 {
		// Freed from here on: before the call returns the address may be another
		// thread's.
		if space := c.spaces[s.PID]; space != nil {
			call.freed, call.freedSite, _ = space.free(call.pointer)
		}
	}
	if f.Effect == allocator.Remaps {
		call.freed.size = argumentOf(s, f.OldSize)
	}
	if f.Effect == allocator.Maps {
		protection, flags := argumentOf(s, mapArguments-1), argumentOf(s, mapArguments)
		call.reserves = protection == unix.PROT_NONE || flags&unix.MAP_NORESERVE != 0
		call.stack = call.reserves && flags&unix.MAP_STACK != 0 // libc makes it usable later
		// Go's runtime maps its heap over address space that it has reserved. With cgo it
		// does so by libc's mmap.
		call.goHeap = !call.reserves && flags&unix.MAP_FIXED != 0 && flags&unix.MAP_ANONYMOUS != 0 && c.isGo(rows, s.PID)
		call.reserves = call.reserves || call.goHeap
	}
	if call.kept = !call.reserves && c.sampler.keeps(call.size); call.kept {
		call.caller = callerOf(rows, s)
	}
}

// isGo reports whether a process runs Go.
func (c *Collector) isGo(rows *table.Rows, pid uint32) bool {
	p := rows.Processes().Process(int(pid))
	known, ok := c.golang[pid]
	if !ok || known.index != p.Index {
		known = goProcess{p.Index, p.MapsGo()}
		if len(c.golang) >= maxGolang {
			clear(c.golang)
		}
		c.golang[pid] = known
	}
	return known.is
}

// maxGolang bounds the processes of which it is kept whether they run Go.
const maxGolang = 1 << 12

// goProcess says whether one life of a process runs Go.
type goProcess struct {
	index int
	is    bool
}

// passOn has the call around one that has ended know its result: musl's and tcmalloc's
// posix_memalign write what aligned_alloc and memalign return.
func (c *Collector) passOn(task pair.Task, slot uint64, call *leakCall, s *perfevent.Sample) {
	if around := c.calls.Around(task, slot); around != nil && call.function.Effect == allocator.Allocates && call.function.Through == 0 {
		around.Payload.address = registerOf(s, resultRegister)
	}
}

// ended takes the end of a call that is inside of no other.
func (c *Collector) ended(rows *table.Rows, s *perfevent.Sample, call *leakCall) {
	result, now := registerOf(s, resultRegister), c.options.clock(s.Time)
	switch call.function.Effect {
	case allocator.Allocates:
		address, ok := result, true
		if call.function.Through != 0 {
			if uint32(result) != 0 {
				return // an error number
			}
			address, ok = c.through(s, call)
		}
		if !ok {
			c.unread++
		} else if call.kept && address != 0 {
			c.space(s.PID).add(rows, call.caller, address, call.size, now)
		}
	case allocator.Reallocates:
		switch {
		case result != 0 && call.kept:
			c.space(s.PID).add(rows, call.caller, result, call.size, now)
		case result == 0 && call.size != 0 && call.freed.address != 0:
			c.space(s.PID).put(rows, call.freedSite, call.freed)
		}
	case allocator.Maps, allocator.Remaps:
		if int64(result) < 0 && int64(result) >= -maxErrno {
			return
		}
		space := c.space(s.PID)
		if call.function.Effect == allocator.Remaps {
			space.unmapped(rows, call.pointer, call.freed.size)
		}
		switch {
		case call.stack:
			c.reserved.stacks++
			c.reserved.stackBytes += call.size
		case call.goHeap:
			c.reserved.goBytes += call.size
		case call.reserves:
			c.reserved.areas++
			c.reserved.areaBytes += call.size
		}
		if call.kept {
			space.mapped(rows, call.caller, result, call.size, now)
		} else {
			space.unmapped(rows, result, call.size)
		}
	}
}

// maxErrno is the largest number of an error, which system calls return less than 0
// (MAX_ERRNO in include/linux/err.h). libc's functions return -1.
const maxErrno = 4095

// given takes a call of a function that frees or unmaps.
func (c *Collector) given(rows *table.Rows, s *perfevent.Sample, f *allocator.Function) {
	space, pointer := c.spaces[s.PID], argumentOf(s, f.Pointer)
	if space == nil || pointer == 0 {
		return
	}
	if f.Effect == allocator.Unmaps {
		space.unmapped(rows, pointer, argumentOf(s, f.Size))
		return
	}
	space.free(pointer)
}

// through finds the address that a function has written: in the copy of the caller's
// stack, by the call inside it that has returned it, in a register, or where all that
// does not tell in the process's memory, which may have changed since.
func (c *Collector) through(s *perfevent.Sample, call *leakCall) (uint64, bool) {
	pointer := call.pointer
	_, sp := pair.Site{}.Place(s)
	if at := pointer - sp; pointer >= sp && at+8 <= uint64(len(s.Stack)) {
		return binary.NativeEndian.Uint64(s.Stack[at:]), true
	}
	if call.address != 0 {
		return call.address, true
	}
	if written := call.function.Written; written > 0 {
		if address := registerOf(s, uint(written-1)); address != 0 {
			return address, true
		}
	}
	var word [8]byte
	if c.options.Host.ReadMemory(int(s.PID), pointer, word[:]) < len(word) {
		return 0, false
	}
	address := binary.NativeEndian.Uint64(word[:])
	return address, call.align == 0 || address%call.align == 0
}

// mapArguments is how many arguments of mmap(2) are read. The last two are the protection
// and the flags.
const mapArguments = 4

// argumentMask is the registers of the first arguments.
func argumentMask(n int) (mask uint64) {
	for _, register := range argumentRegisters[:n] {
		mask |= 1 << register
	}
	return mask
}

// argumentOf returns an argument of a call by its number from 1 on, 0 of none.
func argumentOf(s *perfevent.Sample, n int) uint64 {
	if n == 0 {
		return 0
	}
	return registerOf(s, argumentRegisters[n-1])
}

// registerOf returns a register of a sample, 0 of one that it was not asked to have.
func registerOf(s *perfevent.Sample, register uint) uint64 {
	i := bits.OnesCount64(s.Regs.Mask & (1<<register - 1))
	if i >= len(s.Regs.Values) || s.Regs.Mask>>register&1 == 0 {
		return 0
	}
	return s.Regs.Values[i]
}
