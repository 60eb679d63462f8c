package probe

import (
	"github.com/ringtap/ringtap/kprobe"
	"github.com/ringtap/ringtap/perfevent"
)

// kernelHits attaches to places in the kernel.
func (s *Set) kernelHits(spec *Spec) error {
	plan, err := s.resolveKernel(spec.definition)
	if err != nil {
		return err
	}
	for i := range plan.Sites {
		s.valued(plan.Sites[i].Args)
	}
	added, err := s.attachKernel(plan, s.shares(len(plan.Sites)))
	if err != nil {
		return err
	}
	s.name(spec, added, len(plan.Sites), func(i int) string { return plan.Sites[i].Function.String() })
	return nil
}

// resolveKernel finds the places for a definition.
func (s *Set) resolveKernel(text string) (*kprobe.Plan, error) {
	d, err := kprobe.Parse(text)
	if err != nil {
		return nil, err
	}
	plan, err := kprobe.Resolve(d, kprobe.Options{Force: s.options.Force, MaxSites: s.options.Limit, Logger: s.options.Logger})
	if err != nil {
		return nil, err
	}
	for _, note := range plan.Notes {
		s.note("%s", note)
	}
	return plan, nil
}

// attachKernel adds sources for the sites of a plan, and returns them.
func (s *Set) attachKernel(plan *kprobe.Plan, share bool) ([]Source, error) {
	a, err := kprobe.Attach(plan, kprobe.AttachOptions{Target: s.options.Target, Filter: s.options.Filter, PerSampling: s.perSampling(),
		Merge: share, UserStacks: s.options.UserStacks, Method: s.options.Method, Logger: s.options.Logger})
	if err != nil {
		return nil, err
	}
	s.kprobes = append(s.kprobes, a)
	s.closers = append(s.closers, a.Close)
	if a.Merged() {
		s.hits = a.Hits
	}
	added := s.add(a.Events, a.Formats, a.Filter, len(plan.Sites), func(i int) (uint64, PlaceName) {
		site := &plan.Sites[i]
		return site.Address, PlaceName{site.Event, site.Function.Name}
	})
	for i := range added {
		if a.IntrRegs != 0 {
			added[i].Prepare = func(sampling *perfevent.Sampling) { sampling.IntrRegs |= a.IntrRegs }
		}
		if a.Raw != nil {
			added[i].Record = func(dst []byte, sample *perfevent.Sample) []byte { return a.Raw(dst, i, sample) }
		}
	}
	return added, nil
}
