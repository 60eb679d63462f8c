package stack

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
			s := perfevent.Sampling{Frequency: test.frequency, ExcludeKernel: test.userOnly}
			test.stacks.Prepare(&s)
			got := asked{Kernel: s.Callchain.Kernel, User: s.Callchain.User, Regs: s.UserRegs == callchain.Host().UserRegsMask(), Copy: s.UserStack}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
