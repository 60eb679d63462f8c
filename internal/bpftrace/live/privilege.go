package live

import (
	"errors"
	"slices"

	"github.com/ringtap/ringtap/internal/engine"
	"github.com/ringtap/ringtap/perfevent"
)

// open opens the samplings of a run. If the user may not sample the kernel, it opens them without
// hits in the kernel and without kernel stacks. That is not possible for probes.
func (f *feed) open(opts perfevent.Options) (*engine.Live, error) {
	samplings := f.samplings()
	opened, err := engine.Open(f.options.Target, samplings, opts)
	for errors.Is(err, perfevent.ErrFilter) && f.dropFilter(err) {
		samplings = f.samplings()
		opened, err = engine.Open(f.options.Target, samplings, opts)
	}
	if !errors.Is(err, perfevent.ErrKernelExcluded) || slices.ContainsFunc(f.sources, func(s *source) bool { return s.probe != nil }) {
		return opened, err
	}
	note := ""
	for i, s := range f.sources {
		switch {
		case s.stacks.Kernel:
			note = "hits in the kernel are not seen, and kstack is empty"
		case note == "" && len(s.uses) > 0:
			note = "hits in the kernel are not seen"
		}
		s.stacks.Kernel = false
		samplings[i].ExcludeKernel, samplings[i].Callchain.Kernel = true, false
	}
	if note != "" {
		f.Notes = append(f.Notes, note+": that takes root, CAP_PERFMON or a kernel.perf_event_paranoid of at most 1")
	}
	return engine.Open(f.options.Target, samplings, opts)
}
