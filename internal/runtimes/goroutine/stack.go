package goroutine

import (
	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/arch"
)

// Sizes of stack copies, in bytes.
const (
	firstCopy    = 64 << 10 // of one stack; most goroutines use less than two
	greatestCopy = 1 << 20  // of a deeper stack
	groupCopy    = 4 << 20  // of all stacks read together
)

// maxChains bounds the memory for distinct stacks, in bytes.
const maxChains = 128 << 20

// stackSize returns how many bytes of a goroutine's stack to read, at most limit. It returns 0
// if the goroutine runs.
func (s *state) stackSize(limit uint64) int {
	_, sp := s.top()
	if s.status == running || sp < s.lo || sp >= s.hi {
		return 0
	}
	return int(min(s.hi-sp, limit))
}

// unwind sets a goroutine's frames from the copy of its stack. If the stack is deeper than the
// copy, it reads more.
func (p *pass) unwind(g *Goroutine, s *state, stack []byte) error {
	if p.stacks.Bytes() > maxChains {
		g.Missing = "there are more different stacks than memory for them"
		return nil
	}
	var end callchain.End
	p.frames, end = p.walk(p.frames[:0], s, stack)
	if size := s.stackSize(greatestCopy); end == callchain.Cut && size > len(stack) {
		_, sp := s.top()
		deep := make([]byte, size)
		ok, err := readAt(p.memory, sp, deep)
		if err != nil {
			return err
		}
		var b batch
		if err := p.read(&b, []uint64{s.addr}); err != nil {
			return err
		}
		if later, sane := p.parse(&b, 0); ok && sane && s.still(&later) {
			p.frames, end = p.walk(p.frames[:0], s, deep)
		}
	}
	if len(p.frames) == 0 {
		g.Missing = "it is at no code that is known"
		return nil
	}
	g.Stack = p.stacks.Intern(p.frames, end != callchain.Complete)
	g.Frames, _ = p.stacks.Stack(g.Stack)
	g.End = end
	return nil
}

// walk unwinds a copy of a stack.
func (p *pass) walk(dst []callchain.Frame, s *state, stack []byte) ([]callchain.Frame, callchain.End) {
	if s.status != waiting && s.callSP == 0 {
		if frames, end, ok := p.preempted(dst, s, stack); ok {
			return frames, end
		}
	}
	return p.walkFrom(dst, s, stack)
}

// walkFrom unwinds a copy of a stack from the place where the goroutine stopped.
func (p *pass) walkFrom(dst []callchain.Frame, s *state, stack []byte) ([]callchain.Frame, callchain.End) {
	if err := p.load(s); err != nil {
		return dst, callchain.Lost
	}
	p.capture.Stack, p.capture.OneStack = stack, true
	return p.process.Unwinder.Unwind(dst, p.process.Space, &p.capture)
}

// load sets the registers to unwind from.
func (p *pass) load(s *state) error {
	pc, sp := s.top()
	lr, bp := s.lr, s.bp
	if s.callSP != 0 {
		lr, bp = 0, s.callBP
	}
	if p.arch == callchain.ARM64 {
		m := arch.ARM64
		return p.capture.Regs.Load(p.arch, arch.Mask(m.FP, m.LR, m.SP, m.PC), []uint64{bp, lr, sp, pc})
	}
	m := arch.AMD64
	return p.capture.Regs.Load(p.arch, arch.Mask(m.FP, m.SP, m.PC), []uint64{bp, sp, pc})
}
