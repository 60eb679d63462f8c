package facility

import (
	"cmp"
	"errors"
	"io"
	"log/slog"
	"os"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/perfevent"
	"github.com/ringtap/ringtap/symbols"
)

// opens returns nil if the sampling can be opened on this process.
func (h *host) opens(s perfevent.Sampling) error {
	return try(perfevent.Process(os.Getpid()), s)
}

func try(target perfevent.Target, s perfevent.Sampling) error {
	session, err := perfevent.Open(target, []perfevent.Sampling{s}, perfevent.Options{
		RingBytes: os.Getpagesize(),
		Logger:    slog.New(slog.DiscardHandler),
	})
	if err == nil {
		return session.Close()
	}
	return short(err)
}

// short returns a shorter error that says why an event can't be opened.
func short(err error) error {
	var open *perfevent.OpenError
	switch {
	case errors.Is(err, perfevent.ErrNoEvent):
		return errors.New("not on this machine")
	case errors.As(err, &open) && open.Hint != "":
		return errors.New(open.Hint)
	}
	return err
}

func cycles() perfevent.Sampling {
	return perfevent.Sampling{Event: perfevent.CPUCycles(), Frequency: 1, ExcludeKernel: true}
}

func clock() perfevent.Sampling {
	return perfevent.Sampling{Event: perfevent.CPUClock(), Frequency: 1, ExcludeKernel: true}
}

func cacheMisses() perfevent.Sampling {
	s := cycles()
	s.Event = perfevent.Hardware(perfevent.HardwareCacheMisses)
	return s
}

func stackCopy() perfevent.Sampling {
	s := clock()
	s.UserRegs, s.UserStack = callchain.Host().UserRegsMask(), 8192
	return s
}

func userChain() perfevent.Sampling {
	s := clock()
	s.Callchain.User = true
	return s
}

func (h *host) wholeSystem() error {
	s := clock()
	s.ExcludeKernel = false
	return try(perfevent.System(), s)
}

func (h *host) kernelSamples() error {
	s := clock()
	s.ExcludeKernel = false
	return h.opens(s)
}

// kernelBreakpoint returns nil if a breakpoint can be set on kernel code. It opens one on
// kernel_restart, which a running system does not call, and never enables it.
func (h *host) kernelBreakpoint() error {
	f, err := h.proc().Kallsyms()
	if err != nil {
		return absent(err)
	}
	defer f.Close()
	result := errAbsent
	err = symbols.EachKernelSymbol(f, func(s *symbols.KernelSymbol) error {
		if s.Type == 'T' && string(s.Name) == "kernel_restart" {
			result = breakpointAt(s.Address)
			return io.EOF
		}
		return nil
	})
	return cmp.Or(err, result)
}

// breakpointAt returns nil if a breakpoint can be opened on an address of the kernel's code.
func breakpointAt(addr uint64) error {
	if addr == 0 {
		return errors.New("the kernel hides its addresses")
	}
	event := perfevent.Breakpoint(perfevent.BreakpointExecute, addr, 8)
	counters, err := perfevent.OpenCounters(perfevent.System(), []perfevent.Event{event},
		perfevent.Options{Logger: slog.New(slog.DiscardHandler)})
	if errors.Is(err, perfevent.ErrNotProbeable) {
		return errors.New("not in the kernel's code (x86: CONFIG_KPROBES)")
	}
	if err != nil {
		return short(err)
	}
	return counters.Close()
}
