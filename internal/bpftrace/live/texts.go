package live

import (
	"github.com/ringtap/ringtap/internal/bpftrace/plan"
	"github.com/ringtap/ringtap/internal/bpftrace/value"
	"github.com/ringtap/ringtap/internal/probe"
	"github.com/ringtap/ringtap/internal/readmem/usertext"
)

// kernelTexts is the largest max_strlen, in bytes, for which no helper runs from the first hit on. Programs with a
// small max_strlen rarely meet a text that the kernel can't fetch, one of 4096 bytes or more.
const kernelTexts = 1024

// attachUserTexts makes user probes show texts that are too long for the kernel. A helper reads them while the
// thread is stopped, or they are read late.
func (a *Attachment) attachUserTexts() {
	sources := make([]probe.Source, len(a.sources))
	for i, s := range a.sources {
		if s.event.Place == plan.User {
			sources[i] = *s.probe
		}
	}
	way := usertext.Kernel
	switch most := a.program.Config.MaxStrlen; {
	case a.options.Near && most > kernelTexts:
		way = usertext.Near
	case a.options.Near:
		way = usertext.Auto
	}
	texts, err := usertext.Attach(sources, usertext.Options{
		Target: a.options.Target, Way: way, Limit: a.program.Config.MaxStrlen, Late: true, Logger: a.options.Logger,
	})
	if err != nil {
		a.options.Logger.Info("long texts are read late", "error", err)
	}
	for i, s := range a.sources {
		if sources[i].Record != nil {
			s.probe, a.userTexts = &sources[i], texts
		}
	}
}

// markLate marks the texts of a source that were read after the hit. In their records, the field late is not 0.
func (s *source) markLate(late string, get getter) getter {
	field := s.probe.Format.Field(late)
	if field == nil {
		return get
	}
	return func(h *hit) value.Value {
		v := get(h)
		if n, _ := field.Uint(h.raw); n != 0 {
			v = v.Late()
		}
		return v
	}
}
