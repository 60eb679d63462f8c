package collect

import (
	"time"

	"github.com/ringtap/ringtap/internal/profile"
	"github.com/ringtap/ringtap/perfevent"
)

// Collector is one question asked of the host. Once the events are open its
// methods are called on the goroutine of the Recorder, and keep nothing of a
// sample.
type Collector interface {
	// Plan is what the collector opens and how its rows read, as it stands
	// after the last Retreat.
	Plan() Plan
	// Retreat changes the collector to what the machine or the caller's
	// privileges allow, after its events could not be opened, and returns what
	// the reader of the profile must know of that; false if there is no other way.
	Retreat(err error) (note string, ok bool)
	// Skip says that a sample is none of the collector's.
	Skip(*perfevent.Sample) bool
	// Fold adds a sample to the row of its process and stacks.
	Fold(row []uint64, sample *perfevent.Sample)
}

// Plan is what a collector opens, and how its rows read.
type Plan struct {
	Name      string        // the command's
	Event     string        // what is sampled, as reports call it
	Period    time.Duration // that one sample stands for; 0 if samples are not time
	Samplings []perfevent.Sampling
	Stacks    Stacks
	Metrics   []profile.Metric // the columns of a row
}
