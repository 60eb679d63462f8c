package live

import (
	"github.com/ringtap/ringtap/internal/probe"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/script/plan"
	"github.com/ringtap/ringtap/internal/script/value"
	"github.com/ringtap/ringtap/internal/usertext"
	"github.com/ringtap/ringtap/perfevent"
)

// kernelTexts is how long texts may be for which no helper waits from the first hit on: programs that set
// max_strlen no higher rarely meet one that the kernel can't fetch, which is one of 4096 bytes or more.
const kernelTexts = 1024

// attachUserTexts has user probes show texts that are too long for the kernel: a helper reads them while the
// thread stands still, or they are read a moment later.
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
		Target: a.options.Target, Way: way, Limit: a.program.Config.MaxStrlen, Memory: a.now, Logger: a.options.Logger,
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

// now reads the memory of a sample's process, unless that runs another program by now.
func (a *Attachment) now(s *perfevent.Sample, addr uint64, b []byte) int {
	if a.programs.changed(s) {
		return 0
	}
	return process.Host{}.ReadMemory(int(s.PID), addr, b)
}

// markLate marks the texts of a source that were read after the hit. The field named late tells which were.
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
