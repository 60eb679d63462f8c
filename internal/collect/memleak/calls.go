package memleak

import (
	"encoding/binary"
	"math"
	"math/bits"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/arch"
	"github.com/ringtap/ringtap/internal/collect/allocator"
	"github.com/ringtap/ringtap/internal/collect/table"
	"github.com/ringtap/ringtap/internal/probe/pair"
	"github.com/ringtap/ringtap/perfevent"
)

// leakCall is an allocator call that has not returned.
type leakCall struct {
	function *allocator.Function
	inner    bool   // inside another call
	kept     bool   // it is sampled
	caller   caller // only if kept
	size     uint64
	pointer  uint64
	reserves bool   // maps address space without memory
	stack    bool   // maps the stack of a thread
	goHeap   bool   // maps a part of Go's heap
	align    uint64 // the address is a multiple of it; 0: unknown
	address  uint64 // returned by the last call inside this one; 0: none

	freed     allocation // by a reallocation; put back if that fails
	freedSite siteKey
}

// longCall is how long an allocator call may take, in nanoseconds. If a call seems to take longer,
// ringtap missed its end, and later calls are not inside it.
const longCall = uint64(time.Second)

// inside reports whether a call is inside another one.
func (c *Collector) inside(task pair.Task, slot uint64, f *allocator.Function, now uint64) bool {
	for {
		around := c.calls.Around(task, slot)
		if around == nil {
			return false
		}
		// A function and its tail call share a frame. A function never shares its frame with
		// itself.
		if now-around.Start < longCall && (around.Slot != slot || around.Payload.function != f) {
			return true
		}
		if ended, ok := c.calls.Leave(task, 0, around.Slot, now); ok {
			c.recycle(ended.Payload)
		}
	}
}

// call returns a leakCall. It reuses one whose call is over.
func (c *Collector) call(f *allocator.Function, inner bool) *leakCall {
	call := &leakCall{}
	if n := len(c.spare); n > 0 {
		call, c.spare = c.spare[n-1], c.spare[:n-1]
	}
	*call = leakCall{function: f, inner: inner}
	return call
}

// maxSpare is how many unused leakCalls are kept.
const maxSpare = 1024

func (c *Collector) recycle(call *leakCall) {
	if len(c.spare) < maxSpare {
		c.spare = append(c.spare, call)
	}
}

// begun handles the start of a call that is not inside another one.
func (c *Collector) begun(rows *table.Rows, s *perfevent.Sample, call *leakCall) {
	f := call.function
	call.size = argumentOf(s, f.Size)
	if f.Times != 0 {
		if more, product := bits.Mul64(call.size, argumentOf(s, f.Times)); more == 0 {
			call.size = product
		} else {
			call.size = math.MaxUint64 // the call will fail and free nothing; size 0 could free
		}
	}
	call.pointer = argumentOf(s, f.Pointer+f.Through) // at most one of the two is set
	call.align = argumentOf(s, f.Align)
	if f.Effect == allocator.Reallocates && call.pointer != 0 {
		// Free it now, because another thread may get the same address before the call returns.
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
		// Go's runtime maps its heap over address space that it has reserved. With cgo it calls
		// libc's mmap for that.
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

// maxGolang bounds the processes for which isGo remembers the answer.
const maxGolang = 1 << 12

// goProcess says whether a process, identified by its Process.Index, runs Go.
type goProcess struct {
	index int
	is    bool
}

// passOn stores the result of an inner call in the call around it. In musl and tcmalloc,
// posix_memalign writes what aligned_alloc or memalign return.
func (c *Collector) passOn(task pair.Task, slot uint64, call *leakCall, s *perfevent.Sample) {
	if around := c.calls.Around(task, slot); around != nil && call.function.Effect == allocator.Allocates && call.function.Through == 0 {
		around.Payload.address = resultOf(s)
	}
}

// ended handles the return of a call that is not inside another one.
func (c *Collector) ended(rows *table.Rows, s *perfevent.Sample, call *leakCall) {
	result, now := resultOf(s), c.options.clock(s.Time)
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

// maxErrno is the largest error number (MAX_ERRNO in include/linux/err.h). System calls return it
// negated. libc's functions return -1.
const maxErrno = 4095

// given handles a call of a function that frees or unmaps.
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

// through returns the address that a function has written. It looks at the copy of the caller's
// stack, then at the result of the inner call, then in a register. If none of these has it, it
// reads the process's memory, which may have changed since.
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
		if address := registerOf(s, written-1); address != 0 {
			return address, true
		}
	}
	var word [8]byte
	if c.options.host.ReadMemory(int(s.PID), pointer, word[:]) < len(word) {
		return 0, false
	}
	address := binary.NativeEndian.Uint64(word[:])
	return address, call.align == 0 || address%call.align == 0
}

// mapArguments is how many arguments of mmap(2) are read. The last two are protection and flags.
const mapArguments = 4

// argumentMask returns the mask of the registers of the first n arguments.
func argumentMask(n int) uint64 { return arch.Mask(arch.Here.C.Arguments[:n]...) }

// resultMask returns the mask of the register of a call's result.
func resultMask() uint64 { return arch.Mask(arch.Here.C.Results[0]) }

// resultOf returns the result of a call that has returned.
func resultOf(s *perfevent.Sample) uint64 { return registerOf(s, arch.Here.C.Results[0].Perf) }

// argumentOf returns argument n of a call, counted from 1. It returns 0 if n is 0.
func argumentOf(s *perfevent.Sample, n int) uint64 {
	if n == 0 {
		return 0
	}
	return registerOf(s, arch.Here.C.Arguments[n-1].Perf)
}

// registerOf returns a register of a sample, or 0 if the sample does not have it.
func registerOf(s *perfevent.Sample, register uint8) uint64 {
	value, _ := s.Regs.Value(int(register))
	return value
}
