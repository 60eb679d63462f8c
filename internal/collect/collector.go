package collect

import (
	"time"

	"github.com/ringtap/ringtap/internal/profile"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/perfevent"
)

// Collector is one question asked of the host. Once the events are open its
// methods are called on the goroutine of the Recorder, and keep nothing of a
// sample.
//
// A collector may also be a Follower, an Ender, a Keeper, a Holder and a Forgetter.
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
	// Fold adds a sample of the plan's sampling of that index to rows.
	Fold(rows *Rows, sampling int, sample *perfevent.Sample)
}

// Follower is a Collector that sees the records that are no samples as well, in
// the same order of time.
type Follower interface {
	Follow(rows *Rows, record perfevent.Record)
}

// Ender is a Collector that has something to add when a window ends: time that
// went by in what is not over yet, or what stands at that moment.
type Ender interface {
	// End is called once for each window, at its end, which is the time given.
	End(rows *Rows, now uint64)
}

// Keeper is a Collector that keeps rows from one sample to another.
type Keeper interface {
	// Kept yields every row that is kept. They are changed: the ids of stacks
	// are good for one window.
	Kept(yield func(*Row))
}

// Noter is a Collector that has something to say of a window beside its rows.
type Noter interface {
	// Notes are sentences that a reader of the window that has just ended must
	// know, or of the one of the whole run, after the last of them.
	Notes(whole bool) []string
}

// Holder is a Collector that holds what grows with what it sees.
type Holder interface {
	// Bytes is how much memory that takes. It counts against Options.Memory.
	Bytes() int
}

// Forgetter is a Collector that remembers from one sample to another: a wait that
// has begun, a call that has not returned, memory that is not freed. One that
// remembers and is no Forgetter is wrong after a gap.
type Forgetter interface {
	// Forget is called where records are missing, such as between two alarms
	// (-T): what was remembered may be over since. Records go on at the time
	// given, which is Rows.Begin from then on.
	Forget(now uint64)
}

// Plan is what a collector opens, and how its rows read.
type Plan struct {
	Name      string        // the command's
	Event     string        // what is sampled, as reports call it
	Period    time.Duration // that one sample stands for; 0 if samples are not time
	Samplings []perfevent.Sampling
	// Switches asks for the records of context switches.
	Switches bool
	// SwitchCPUs are the only CPUs whose context switches are asked for; nil is all.
	SwitchCPUs []int
	// Ordered says that samples must be folded in the order of time, and not
	// only those of a window before those of the next.
	Ordered bool
	Stacks  stack.Stacks
	Metrics []profile.Metric // the columns of a row
	// Standing marks metrics that tell what stands when a window ends, such as
	// memory that is not freed, so that windows don't add up.
	Standing bool
}
