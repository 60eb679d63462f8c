package collect

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/perfevent"
)

// asked is what of a sampling depends on the stacks.
type asked struct {
	Kernel, User, Regs bool
	Copy               uint32
}

func TestASamplingAsksForWhatItsStacksNeed(t *testing.T) {
	for _, test := range []struct {
		name      string
		stacks    Stacks
		frequency uint64
		userOnly  bool
		want      asked
	}{
		{name: "no stacks"},
		{name: "kernel only", stacks: Stacks{Kernel: true, Unwind: Auto}, want: asked{Kernel: true}},
		{
			name: "a kernel that may not be seen", stacks: Stacks{User: true, Kernel: true, Unwind: FP}, userOnly: true,
			want: asked{User: true, Regs: true, Copy: leafCopy},
		}, {
			name: "frame pointers, and what repairs their leaf", stacks: Stacks{User: true, Unwind: FP},
			want: asked{User: true, Regs: true, Copy: leafCopy},
		}, {
			name: "the copy alone", stacks: Stacks{User: true, Unwind: DWARF},
			want: asked{Regs: true, Copy: deepCopy},
		}, {
			name: "both", stacks: Stacks{User: true, Unwind: Auto}, frequency: fastFrequency,
			want: asked{User: true, Regs: true, Copy: deepCopy},
		}, {
			name: "both, at a frequency that would fill the rings", stacks: Stacks{User: true, Unwind: Auto}, frequency: fastFrequency + 1,
			want: asked{User: true, Regs: true, Copy: fastCopy},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := OnCPU{Event: perfevent.CPUClock(), Frequency: max(test.frequency, 1), Stacks: test.stacks, UserOnly: test.userOnly}
			s := c.Plan().Samplings[0]
			got := asked{Kernel: s.Callchain.Kernel, User: s.Callchain.User, Regs: s.UserRegs == callchain.Host().UserRegsMask(), Copy: s.UserStack}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if s.ExcludeKernel != test.userOnly {
				t.Errorf("ExcludeKernel = %t, want %t", s.ExcludeKernel, test.userOnly)
			}
		})
	}
}

func TestOneSampleStandsForOnePeriod(t *testing.T) {
	c := OnCPU{Event: perfevent.CPUClock(), Frequency: 49}
	plan := c.Plan()
	if scale := plan.Metrics[0].Scale; scale != 20408163 || uint64(plan.Period) != scale {
		t.Errorf("a sample at 49 Hz stands for %v, a count for %d ns; want 20408163 of both", plan.Period, scale)
	}
}
