package facility

import (
	"errors"
	"log/slog"
	"os"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/perfevent"
)

// opens tries a sampling on this process.
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
	var open *perfevent.OpenError
	if errors.As(err, &open) && open.Hint != "" {
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
