package oncpu

import (
	"testing"

	"github.com/ringtap/ringtap/perfevent"
)

func TestOneSampleStandsForOnePeriod(t *testing.T) {
	c := Collector{Event: perfevent.CPUClock(), Frequency: 49}
	plan := c.Plan()
	if scale := plan.Metrics[0].Scale; scale != 20408163 || uint64(plan.Period) != scale {
		t.Errorf("a sample at 49 Hz stands for %v, a count for %d ns; want 20408163 of both", plan.Period, scale)
	}
}

func TestAKernelThatMayNotBeSeenIsNotSampled(t *testing.T) {
	for _, userOnly := range []bool{false, true} {
		c := Collector{Event: perfevent.CPUClock(), Frequency: 49, UserOnly: userOnly}
		if got := c.Plan().Samplings[0].ExcludeKernel; got != userOnly {
			t.Errorf("ExcludeKernel = %t, want %t", got, userOnly)
		}
	}
}
