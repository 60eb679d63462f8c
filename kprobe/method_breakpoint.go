package kprobe

import (
	"errors"
	"fmt"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/arch"
	"github.com/ringtap/ringtap/perfevent"
)

func attachBreakpoint(p *Plan, o *AttachOptions) (*Attachment, error) {
	switch {
	case p.returns():
		return nil, errors.New("there are none at returns")
	case o.Filter != "":
		return nil, errFilters
	case len(p.Sites) > perfevent.MaxBreakpoints:
		return nil, fmt.Errorf("there are %d for %d places", perfevent.MaxBreakpoints, len(p.Sites))
	}
	raw, err := newRawBreakpoint(p, arch.Here)
	if err != nil {
		return nil, err
	}
	a := &Attachment{IntrRegs: raw.mask, Raw: raw.append}
	for i := range p.Sites {
		s := &p.Sites[i]
		if s.Address == 0 {
			return nil, errors.New("the address of " + s.Place() + " is not known: /proc/kallsyms hides addresses from everyone but root (kernel.kptr_restrict)")
		}
		format, err := ftrace.KprobeFormat("breakpoints", s.Event, s.Args)
		if err != nil {
			return nil, err
		}
		a.Events = append(a.Events, perfevent.Breakpoint(perfevent.BreakpointExecute, s.Address, 8))
		a.Formats = append(a.Formats, format)
	}
	if err := tryBreakpoint(a.Events[0]); err != nil {
		return nil, err
	}
	if arch.Here == arch.ARM64 {
		o.Logger.Warn("some hits of a breakpoint may come twice: those that an interrupt meets")
	}
	return a, nil
}

// tryBreakpoint tests whether the kernel allows breakpoints in its own code: x86 kernels
// without kprobes do not.
func tryBreakpoint(event perfevent.Event) error {
	c, err := perfevent.OpenCounters(perfevent.System(), []perfevent.Event{event}, perfevent.Options{})
	if open := (*perfevent.OpenError)(nil); errors.As(err, &open) && errors.Is(err, perfevent.ErrNotProbeable) {
		return fmt.Errorf("it allows none there, and on x86 without CONFIG_KPROBES none in its own code: %w", open.Err)
	}
	if err != nil {
		return err
	}
	return c.Close()
}
