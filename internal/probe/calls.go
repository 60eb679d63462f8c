package probe

import (
	"errors"
	"slices"

	"github.com/ringtap/ringtap/internal/probe/pair"
	"github.com/ringtap/ringtap/kprobe"
)

// ErrNoReturns is returned when the end of calls can't be probed.
var ErrNoReturns = errors.New("its calls cannot be timed: it has no return that can be probed")

// kernelCalls attaches to the entries and the returns of kernel functions. Both kinds of probe
// have the same address.
func (s *Set) kernelCalls(spec *Spec) error {
	entry, err := s.resolveKernel("p:" + spec.Probe)
	if err != nil {
		return err
	}
	leave := &kprobe.Plan{Sites: slices.Clone(entry.Sites)}
	if leave.Definition, err = kprobe.Parse("r:" + spec.Probe); err != nil {
		return err
	}
	for i := range leave.Sites {
		leave.Sites[i].Return = true
	}
	all := s.options.Calls == AllCalls
	share := all && len(entry.Sites) > manyPlaces
	for _, plan := range []*kprobe.Plan{entry, leave} {
		added, err := s.attachKernel(plan, share)
		if all && plan == leave && errors.As(err, new(*kprobe.MethodError)) {
			s.onlyEntered(entry, err)
			break
		}
		if err != nil {
			return err
		}
		for i := range added {
			added[i].Role, added[i].Site = Enter, pair.Site{Kernel: true, Return: plan == leave}
			if plan == leave {
				added[i].Role = Return
			}
			if !share {
				added[i].Function = s.number(plan.Sites[i].Function.String())
			}
		}
	}
	s.noteUntimed()
	return nil
}

// onlyEntered turns calls into plain hits, because returns can't be probed.
func (s *Set) onlyEntered(entry *kprobe.Plan, why error) {
	s.why = why.Error()
	for i := range s.Sources {
		s.Sources[i].Role = Hit
	}
	for i := range entry.Sites {
		s.untimed = append(s.untimed, entry.Sites[i].Function.String())
	}
}

// number returns a function's index in Functions. It identifies the function's calls.
func (s *Set) number(function string) int {
	n, known := s.numbers[function]
	if !known {
		if s.numbers == nil {
			s.numbers = make(map[string]int)
		}
		n = len(s.Functions)
		s.numbers[function] = n
		s.Functions = append(s.Functions, function)
	}
	return n
}

// noteUntimed adds notes about functions whose calls are counted without their time, or left
// out.
func (s *Set) noteUntimed() {
	what, why := "is left out", ErrNoReturns.Error()
	if s.options.Calls == AllCalls {
		what = "is counted without its time"
		why = "a kernel return probe would end a program that throws an exception through it, and its return instructions are not all its ends: it never returns, or jumps to other functions"
	}
	if s.why != "" {
		why = s.why
	}
	const few = 3
	for i, name := range s.untimed {
		if i == few {
			s.note("and %d more functions", len(s.untimed)-few)
			return
		}
		s.note("%s %s: %s", name, what, why)
	}
}
