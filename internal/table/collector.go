package table

import (
	"errors"
	"time"

	"github.com/ringtap/ringtap/internal/histogram"
	"github.com/ringtap/ringtap/internal/profile"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/perfevent"
)

// Collector is one question asked of the host. Once the events are open its
// methods are called on the goroutine of the Recorder, and keep nothing of a
// sample.
//
// A collector may also be Stateful, a Noter, Metered, Inherited, Clocked, and a
// Watcher.
type Collector interface {
	// Plan is what the collector opens and how its rows read, as it stands
	// after the last Fallback.
	Plan() Plan
	// Fallback changes the collector to what the machine or the caller's
	// privileges allow, after its events could not be opened, and returns what
	// the reader of the profile must know of that; false if there is no other way.
	Fallback(err error) (note string, ok bool)
	// Skip says that a sample is none of the collector's.
	Skip(*perfevent.Sample) bool
	// Fold adds a sample of the plan's sampling of that index to rows.
	Fold(rows *Rows, sampling int, sample *perfevent.Sample)
}

// Stateful is a Collector that remembers from one sample to another: a wait that has
// begun, a call that has not returned, memory that is not freed. Whoever remembers
// needs all of it: what ends without a sample, the ends of windows, the memory's bound,
// and gaps.
type Stateful interface {
	// Follow takes a record that is no sample, in the order of time.
	Follow(rows *Rows, record perfevent.Record)
	// End is called once for each window, at its end, which is the time given. It adds
	// what goes on or stands then, and calls Rows.Keep for every row that it will use
	// after that.
	End(rows *Rows, now uint64)
	// Bytes is how much memory is taken by what is remembered. It counts against
	// Options.Memory.
	Bytes() int
	// Forget is called where records are missing, such as between two alarms
	// (-T): what was remembered may be over since. Records go on at the time
	// given, which is Rows.Begin from then on.
	Forget(now uint64)
}

// Starter is a Collector that looks at the target as a live run starts.
type Starter interface {
	// Starting is called once, before the events are enabled. What it does delays the run.
	Starting(rows *Rows)
	// Started is called once, as soon as they are enabled. No record is taken before it
	// returns, so it must be quick.
	Started(rows *Rows)
}

// Noter is a Collector whose rows need words: io names the processes that use io_uring.
type Noter interface {
	// Notes returns sentences about the window that has just ended or, if whole is set,
	// about the run, after its last window. Notes say what a reader must know; details say
	// how the numbers were made, which the reader can do nothing about.
	Notes(whole bool) (notes, details []string)
}

// Metered is a Collector of events that the hardware may share with others. Reading
// how long they counted is a system call for each of them, which others are spared.
type Metered interface {
	// Running hands over what reads how long each of the plan's samplings has
	// counted. It is called once, before the events are enabled; what it hands over
	// is called from the methods of the collector.
	Running(read func() ([]perfevent.Running, error))
}

// Inherited is a Collector that samples by time, and must know where children have a period of
// their own.
type Inherited interface {
	// Inherits is called once, before the events are enabled, where the threads of the
	// target hand down the plan's first sampling to their children.
	Inherits()
}

// Clocked is a Collector whose samples are CPU time, which the kernel counts too.
type Clocked interface {
	// StartClock is called once, before the events are enabled.
	StartClock()
	// StopClock is called when the run ends, perhaps more than once and on any goroutine.
	// Only the first call acts.
	StopClock()
	// CPUTime returns how long the processes of p, a profile of the whole run, ran by the
	// kernel's count; 0 if that is unknown. It is called after StopClock.
	CPUTime(p *profile.Profile) time.Duration
	// DiffersNote returns a note for the reader if the sampled time is too far from the
	// kernel's count to be chance, and "" otherwise.
	DiffersNote(sampled, ran time.Duration) string
}

// Watcher is a Collector that reads what may be gone when its samples come in the order
// of time, such as a process's memory.
type Watcher interface {
	// Seen is what is offered each record as soon as it can be, those of the collector's
	// samplings and those of processes, by another goroutine and before Fold: see
	// perfevent.Reader.Unordered. It is asked for once. Nil needs none.
	Seen() func(perfevent.Record)
}

// Hint is what an error of opening says about its cure, for the notes of Fallback.
func Hint(err error) string {
	var open *perfevent.OpenError
	if errors.As(err, &open) && open.Hint != "" {
		return open.Hint
	}
	return err.Error()
}

// Plan is what a collector opens, and how its rows read.
type Plan struct {
	Name      string        // the command's
	Event     string        // what is sampled, as reports call it
	Who       string        // see profile.Profile.Who
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
	// Urgent are the indexes of Samplings whose interpreted functions are read first, where
	// samples come too fast to read those of all: see moment.Pace.
	Urgent []int
	// Switched, unless nil, tells of a sample of the sampling of that index whether its thread
	// leaves its CPU, and which thread goes on there: 0 if the sample does not say. It may be
	// called from any goroutine. With Stacks.Moments threads that have left are read at
	// leisure; then samples or Switches tell of each thread that goes on.
	Switched func(sampling int, s *perfevent.Sample) (leaves bool, next uint32)
	Metrics  []profile.Metric // the columns of a row
	// Histogram, unless nil, is the scale of another column: see Rows.Observe.
	Histogram *histogram.Scale
	// Standing marks metrics that tell what stands when a window ends, such as
	// memory that is not freed, so that windows don't add up.
	Standing bool
}
