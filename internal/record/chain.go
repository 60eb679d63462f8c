package record

import (
	"slices"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/perfdata"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/readmem/helper"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/perfevent"
)

// userStack is the user stack of a sample.
type userStack struct {
	frames []callchain.Frame // leaf first; they must not be changed
	cut    bool              // callers are missing
	calls  *helper.Certainty // how interpreted functions are known; nil without an interpreter
}

// maxStacks bounds the memory of the stacks that the store remembers, in bytes.
const maxStacks = 64 << 20

// unwind returns the user stack of a sample; none if only the kernel's walk is known.
func (s *sink) unwind(p *process.Process, r *perfevent.Sample) (stack userStack) {
	if s.store == nil || !s.hasUser(r) {
		return userStack{}
	}
	if s.store.Bytes() > maxStacks {
		s.store.Sweep()
	}
	user := s.store.User(s.stackers[r.Sampling], p, r)
	if !user.Found {
		return userStack{}
	}
	if user.Interpreted {
		stack.calls = &user.Calls
	}
	of := s.store.Stack(user.ID)
	stack.frames, stack.cut = of.Frames, of.Truncated
	return stack
}

// hasUser reports whether a sample has a user stack that is to be recorded.
func (s *sink) hasUser(r *perfevent.Sample) bool {
	return s.stackers[r.Sampling].Stacks.User && stack.HasUser(r)
}

// setCallchain gives w the callchain in the kernel's form.
func (s *sink) setCallchain(p *process.Process, w *perfevent.Sample, user userStack) error {
	kernel, walked := callchain.Split(w.Callchain)
	chain := s.chain[:0]
	if len(kernel) > 0 {
		chain = append(append(chain, callchain.ContextKernel), kernel...)
		s.named(s.stackers[w.Sampling].Kernel(w))
	}
	if s.hasUser(w) {
		var err error
		begin := len(chain)
		if chain, err = s.appendUser(append(chain, callchain.ContextUser), p, w, user); err != nil {
			return err
		}
		if len(chain) == begin+1 { // in memory that no mapping explains
			chain = append(chain, walked...)
		}
		switch {
		case len(chain) == begin+1:
			chain = chain[:begin]
		case begin == 0 && chain[1] >= perfdata.FunctionsBegin:
			w.IP = chain[1] // code that a runtime has generated has no other name
		}
	}
	s.chain, w.Callchain = chain, chain
	return nil
}

// appendUser appends the addresses of a user stack, leaf first.
func (s *sink) appendUser(chain []uint64, p *process.Process, r *perfevent.Sample, user userStack) ([]uint64, error) {
	s.growth.count(r.Sampling, user.cut)
	s.files.addAll(user.frames)
	s.named(user.frames)
	if user.calls != nil {
		s.calls.Count(*user.calls)
	}
	frames := user.frames
	if user.cut {
		s.cut++
		frames = append(slices.Clip(frames), s.store.Truncated())
	}
	for i, f := range frames {
		address, err := s.address(p, f, r)
		if err != nil {
			return nil, err
		}
		switch {
		case address == 0: // in memory that no mapping explains
			continue
		case f.Return, i > 0 && address >= perfdata.FunctionsBegin:
			address++ // that to which the call returns, as the kernel's own walk has it
		}
		chain = append(chain, address)
	}
	return chain, nil
}

// address returns the address of a frame's Offset, or 0 if nothing is known about it.
func (s *sink) address(p *process.Process, f callchain.Frame, r *perfevent.Sample) (uint64, error) {
	if f.Object >= callchain.Marks {
		return s.functions.address(p, f, r, s.write)
	}
	return s.addresses.of(p, f), nil
}
