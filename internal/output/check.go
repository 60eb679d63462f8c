package output

import (
	"fmt"
	"slices"

	"github.com/ringtap/ringtap/internal/profile"
	"github.com/ringtap/ringtap/internal/profile/timeline"
)

// Check returns an error if p contains an invalid index. Every form calls it first and then indexes
// without checks.
func Check(p *profile.Profile) error {
	if len(p.Metrics) == 0 {
		return fmt.Errorf("profile of %s has no metric", p.Collector)
	}
	for i := range p.Frames {
		if o := p.Frames[i].Object; o < 0 || o >= len(p.Objects) {
			return fmt.Errorf("profile of %s: frame %d is in object %d of %d", p.Collector, i, o, len(p.Objects))
		}
	}
	for i := range p.Stacks {
		for _, f := range p.Stacks[i].Frames {
			if f < 0 || f >= len(p.Frames) {
				return fmt.Errorf("profile of %s: stack %d holds frame %d of %d", p.Collector, i, f, len(p.Frames))
			}
		}
	}
	for i := range p.Rows {
		if err := checkRow(p, &p.Rows[i]); err != nil {
			return fmt.Errorf("profile of %s: row %d %w", p.Collector, i, err)
		}
	}
	return nil
}

// checkTimeline returns an error if the timeline of p contains an invalid index, except rows: a sample
// may have none.
func checkTimeline(t *timeline.Timeline, p *profile.Profile) error {
	if len(t.Events) != len(p.Metrics) {
		return fmt.Errorf("timeline of %s has %d events for %d metrics", p.Collector, len(t.Events), len(p.Metrics))
	}
	for i := range t.Threads {
		th := &t.Threads[i]
		if th.Process < 0 || th.Process >= len(t.Processes) {
			return fmt.Errorf("timeline of %s: thread %d is of process %d of %d", p.Collector, i, th.Process, len(t.Processes))
		}
		for n := range th.Samples {
			if m := int(th.Samples[n].Metric); m >= len(p.Metrics) {
				return fmt.Errorf("timeline of %s: thread %d: sample %d is of metric %d of %d", p.Collector, i, n, m, len(p.Metrics))
			}
		}
	}
	return nil
}

// addable returns p without metrics that are shares of other metrics. Pictures and pprof profiles
// add up values, and shares cannot be added.
func addable(p *profile.Profile) *profile.Profile {
	isShare := func(m profile.Metric) bool { return m.Share != nil }
	if !slices.ContainsFunc(p.Metrics, isShare) {
		return p
	}
	less := *p
	less.Metrics, less.Rows = slices.DeleteFunc(slices.Clone(p.Metrics), isShare), slices.Clone(p.Rows)
	for i := range less.Rows {
		r := &less.Rows[i]
		r.Values = nil
		for m, v := range p.Rows[i].Values {
			if p.Metrics[m].Share == nil {
				r.Values = append(r.Values, v)
			}
		}
	}
	return &less
}

func checkRow(p *profile.Profile, r *profile.Row) error {
	if r.Process < 0 || r.Process >= len(p.Processes) {
		return fmt.Errorf("is of process %d of %d", r.Process, len(p.Processes))
	}
	for _, s := range [2]int{r.User, r.Kernel} {
		if s < profile.None || s >= len(p.Stacks) {
			return fmt.Errorf("has stack %d of %d", s, len(p.Stacks))
		}
	}
	if len(r.Values) != len(p.Metrics) {
		return fmt.Errorf("has %d values for %d metrics", len(r.Values), len(p.Metrics))
	}
	return nil
}
