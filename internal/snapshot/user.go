package snapshot

import (
	"encoding/binary"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/runtimes/interp"
	"github.com/ringtap/ringtap/internal/stack"
)

// userStacks reads the user stacks of waiting threads.
type userStacks struct {
	host     process.Host
	arch     callchain.Arch // the program's
	pid      int
	space    *process.Process
	unwinder *callchain.Unwinder
	start    func(frame callchain.Frame) (start uint64, ok bool) // returns where a frame's function starts
	stack    []byte
	other    []byte // the stack that a signal handler has interrupted
	frames   []callchain.Frame
	runtimes *stack.Runtimes
	compiler interp.Compiler // describes code that an interpreter has compiled; nil if there is none
	flow     *flow           // for the thread that was read last
}

// The sizes of the first and the largest copy of a stack, in bytes.
const (
	firstCopy    = 16 << 10
	greatestCopy = 8 << 20
)

// waiting returns the user frames of a waiting thread. They are valid until the next call.
func (u *userStacks) waiting(t *Thread) ([]callchain.Frame, callchain.End) {
	var capture callchain.Capture
	if err := capture.Regs.LoadWaiting(u.arch, t.pc, t.sp); err != nil {
		return nil, callchain.Lost
	}
	if u.flow != nil {
		u.flow.budget = maxFlow
	}
	return u.unwind(&capture)
}

// unwind returns the user frames of a thread with the captured registers.
func (u *userStacks) unwind(capture *callchain.Capture) ([]callchain.Frame, callchain.End) {
	if capture.Runtime = u.runtimes.Of(u.host, u.space); capture.Runtime == nil && u.compiler != nil {
		capture.Runtime = u.compiler
	}
	for size := firstCopy; ; size *= 8 {
		capture.Whole = true
		load := func(b *[]byte, sp uint64) []byte {
			if cap(*b) < size {
				*b = make([]byte, size)
			}
			n := u.read(sp, (*b)[:size])
			capture.Whole = capture.Whole && (n < size || size >= greatestCopy)
			return (*b)[:n]
		}
		capture.Stack = load(&u.stack, capture.Regs.SP())
		capture.Other = func(sp uint64) []byte { return load(&u.other, sp) }
		var end callchain.End
		u.frames, end = u.unwinder.Waiting(u.frames[:0], u.space, capture, u)
		if end == callchain.Complete || capture.Whole {
			return u.frames, end
		}
	}
}

// read reads memory of the process and returns how many bytes were readable.
func (u *userStacks) read(addr uint64, b []byte) int { return u.host.ReadMemory(u.pid, addr, b) }

// Calls implements callchain.Code.
func (u *userStacks) Calls(ra, callee uint64) bool {
	var code [8]byte
	if u.read(ra-8, code[:]) < len(code) {
		return false
	}
	target, direct, ok := callTarget(u.arch, ra, code)
	if !ok || !direct {
		return ok
	}
	begin, known := u.function(callee)
	to, inCode := u.space.Find(target)
	if !known || !inCode {
		return inCode
	}
	if to.Start <= callee && callee < to.End {
		return target == begin
	}
	return true // through a stub for functions of other files
}

// function returns the start of the function that contains pc.
func (u *userStacks) function(pc uint64) (begin uint64, ok bool) {
	m, ok := u.space.Find(pc)
	if !ok {
		return 0, false
	}
	start, ok := u.start(callchain.Frame{Object: m.Object, Offset: pc - m.Start + m.Offset})
	return start - m.Offset + m.Start, ok
}

// callTarget decodes the call that ends at ra. A call through a register or memory is not direct,
// and its target is unknown.
func callTarget(arch callchain.Arch, ra uint64, code [8]byte) (target uint64, direct, ok bool) {
	switch arch {
	case callchain.AMD64, callchain.I386:
		if code[3] == 0xe8 { // call rel32
			target = ra + uint64(int64(int32(binary.LittleEndian.Uint32(code[4:]))))
			if arch == callchain.I386 {
				target = uint64(uint32(target))
			}
			return target, true, true
		}
		for n := 2; n <= 7; n++ { // ff /2 with 2 to 7 bytes
			if op, modrm := code[8-n], code[8-n+1]; op == 0xff && modrm>>3&7 == 2 {
				return 0, false, true
			}
		}
	case callchain.ARM64:
		op := binary.LittleEndian.Uint32(code[4:])
		switch {
		case op>>26 == 0b100101: // bl imm26
			return ra - 4 + uint64(int64(int32(op<<6))>>4), true, true
		case op&0xfffffc1f == 0xd63f0000: // blr
			return 0, false, true
		}
	}
	return 0, false, false
}
