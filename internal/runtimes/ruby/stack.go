package ruby

import "github.com/ringtap/ringtap/internal/runtimes/interp"

// stack reads a thread's VM stack in large pieces: a system call takes longer than the copy.
type stack struct {
	memory interp.Memory
	from   uint64
	to     uint64
	frames window // control frames, at the stack's end, callers after callees
	values window // environments that ep points to, callers before callees
	apart  bool   // some of it can't be read, so single items are read instead
	b      [maxFrameSize]byte
}

// window is memory that was read in one piece.
type window struct {
	from, to uint64
	b        [4096]byte
}

func (s *stack) begin(m interp.Memory, from, to uint64) {
	s.memory, s.from, s.to, s.apart = m, from, to, false
	s.frames.to, s.values.to = 0, 0
}

// frame returns the control frame at addr, which is below the stack's end. It is valid until
// the next call.
func (s *stack) frame(addr, size uint64) ([]byte, bool) {
	return s.read(&s.frames, addr, size, addr, addr+min(s.to-addr, uint64(len(s.frames.b))))
}

// An environment has three words; ep points to the last one.
const (
	envMethod   = 0
	envCaller   = 8
	envFlags    = 16
	envSize     = 24
	envBeforeEP = 16
)

// env returns the environment that a frame's ep points to. It is outside the stack if it was
// kept for a closure. It is valid until the next call.
func (s *stack) env(ep uint64) ([]byte, bool) {
	addr := ep - envBeforeEP
	from, to := addr, addr+envSize
	if s.from <= addr && addr <= s.to-envSize {
		from = to - min(to-s.from, uint64(len(s.values.b)))
	}
	return s.read(&s.values, addr, envSize, from, to)
}

// read reads n bytes at addr. If they are not in the window, it reads [from, to) into it.
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
