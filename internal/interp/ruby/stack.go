package ruby

import "github.com/ringtap/ringtap/internal/interp"

// stack reads a thread's stack of the virtual machine, much of it at a time: a call of the kernel takes
// longer than the copy.
type stack struct {
	memory interp.Memory
	from   uint64
	to     uint64
	frames window // control frames, which lie at the stack's end, callers behind callees
	values window // what their ep leads to, callers before callees
	apart  bool   // not all of it can be read
	b      [maxFrameSize]byte
}

// window is memory that was read together.
type window struct {
	from, to uint64
	b        [4096]byte
}

func (s *stack) begin(m interp.Memory, from, to uint64) {
	s.memory, s.from, s.to, s.apart = m, from, to, false
	s.frames.to, s.values.to = 0, 0
}

// frame is the control frame at an address that lies that much below the stack's end. It is valid until the next.
func (s *stack) frame(addr, size uint64) ([]byte, bool) {
	return s.read(&s.frames, addr, size, addr, addr+min(s.to-addr, uint64(len(s.frames.b))))
}

// An environment: ep leads to the last of three words.
const (
	envMethod   = 0
	envCaller   = 8
	envFlags    = 16
	envSize     = 24
	envBeforeEP = 16
)

// env is the environment that a frame's ep leads to: out of the stack where that was kept for a closure.
// It is valid until the next.
func (s *stack) env(ep uint64) ([]byte, bool) {
	addr := ep - envBeforeEP
	from, to := addr, addr+envSize
	if s.from <= addr && addr <= s.to-envSize {
		from = to - min(to-s.from, uint64(len(s.values.b)))
	}
	return s.read(&s.values, addr, envSize, from, to)
}

// read reads some bytes, with others around them if it has to.
func (s *stack) read(w *window, addr, n, from, to uint64) ([]byte, bool) {
	if w.from <= addr && addr < w.to && n <= w.to-addr {
		return w.b[addr-w.from:][:n], true
	}
	if !s.apart && to-from > n {
		if s.memory.Read(from, w.b[:to-from]) {
			w.from, w.to = from, to
			return w.b[addr-from:][:n], true
		}
		w.to, s.apart = 0, true
	}
	return s.b[:n], s.memory.Read(addr, s.b[:n])
}
