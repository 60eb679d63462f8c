package table

import (
	"errors"
	"time"

	"github.com/ringtap/ringtap/internal/profile"
	"github.com/ringtap/ringtap/internal/profile/histogram"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/perfevent"
)

// Collector answers one question about the host. Once the events are open, its methods run on the
// goroutine of the Recorder. They must not keep any part of a sample.
//
// A collector may also be a Stateful, Starter, Noter, Indexer, Metered, Inherited, Clocked or
// Watcher.
type Collector interface {
	// Plan returns the events that the collector opens and the meaning of its rows. It takes
	// earlier calls of Fallback into account.
	Plan() Plan
	// Fallback is called when the collector's events could not be opened. It changes the collector
	// to what the machine and the caller's privileges allow. note says what the reader of the
	// profile must know about that. ok is false if there is no other way.
	Fallback(err error) (note string, ok bool)
	// Skip reports whether the collector does not count a sample.
	Skip(*perfevent.Sample) bool
	// Fold adds a sample to rows. sampling is an index into the plan's Samplings.
	Fold(rows *Rows, sampling int, sample *perfevent.Sample)
}

// Stateful is a Collector that remembers things from one sample to another: a wait that has
// started, a call that has not returned, memory that is not freed. Such a collector needs all of
// these methods, for events without a sample, ends of windows, the memory's bound, and gaps.
type Stateful interface {
	// Follow handles a record that is not a sample. Records come in time order.
	Follow(rows *Rows, record perfevent.Record)
	// End is called once at the end of each window. It adds what is still going on or still held at
	// that time. It calls Rows.Keep for every row that it will use later.
	End(rows *Rows, now uint64)
	// Bytes returns how much memory the collector's state takes. It counts against Options.Memory.
	Bytes() int
	// Forget is called when records are missing, such as those between two alarms (-T). What was
	// remembered may have ended meanwhile. Records continue at now, which Rows.Begin returns from
	// then on.
	Forget(now uint64)
}

// Starter is a Collector that looks at the target when a live run starts.
type Starter interface {
	// Starting is called once, before the events are enabled. The run waits for it.
	Starting(rows *Rows)
	// Started is called once, right after the events were enabled. No record is handled before it
	// returns, so it must be quick.
	Started(rows *Rows)
}

// Noter is a Collector whose rows need an explanation. For example, io names the processes that use
// io_uring.
type Noter interface {
	// Notes returns sentences about the window that has just ended or, if whole is set,
	// about the run, after its last window. Notes say what a reader must know; details say
	// how the numbers were made, which the reader can do nothing about.
	Notes(whole bool) (notes, details []string)
}

// Indexer is a Collector that keeps samples one by one, with their rows, and not only their sums.
type Indexer interface {
	// Index is called at the end of each window. index returns where a row of the window is in
	// Window.Rows, or profile.None if it is not there.
	Index(index func(Row) int)
}

// Metered is a Collector whose events may be multiplexed: the hardware counts them only part of the
// time. Reading that time takes a system call per event, so that other collectors do without.
type Metered interface {
	// Running is called once, before the events are enabled. read returns how long each of the
	// plan's samplings has counted. The collector's methods call it.
	Running(read func() ([]perfevent.Running, error))
}

// Inherited is a Collector that samples by time and must know if each child starts a period of its
// own.
type Inherited interface {
	// Inherits is called once, before the events are enabled, if children of the target's threads
	// inherit the plan's first sampling.
	Inherits()
}

// Clocked is a Collector whose samples are CPU time. The kernel counts CPU time too, so that the
// two can be compared.
type Clocked interface {
	// StartClock is called once, before the events are enabled.
	StartClock()
	// StopClock is called when the run ends, on any goroutine. It may be called more than once;
	// only the first call counts.
	StopClock()
	// CPUTime returns how long the processes of p ran by the kernel's count, or 0 if that is
	// unknown. p is a profile of the whole run. It is called after StopClock.
	CPUTime(p *profile.Profile) time.Duration
	// DiffersNote returns a note for the reader if the sampled time is too far from the
	// kernel's count to be chance, and "" otherwise.
	DiffersNote(sampled, ran time.Duration) string
}

// Watcher is a Collector that reads things that may be gone when its samples arrive in time order,
// such as a process's memory.
type Watcher interface {
	// Seen returns a function that gets the collector's samples and all records about processes as
	// soon as they are read. It runs on another goroutine and before Fold: see
	// perfevent.Reader.Unordered. Seen is called once, and may return nil.
	Seen() func(perfevent.Record)
}

// Hint returns how to cure an error of opening events, for the notes of Fallback. It is the error's
// text if the error has no hint.
func Hint(err error) string {
	var open *perfevent.OpenError
	if errors.As(err, &open) && open.Hint != "" {
		return open.Hint
	}
	return err.Error()
}

// Plan says what a collector opens, and what its rows mean.
type Plan struct {
	Name      string        // of the command
	Event     string        // what is sampled, as reports call it
	Who       string        // see profile.Profile.Who
	Period    time.Duration // time that one sample stands for; 0 if samples are not time
	Samplings []perfevent.Sampling
	// Switches asks for records of context switches.
	Switches bool
	// Names asks for the names of threads: see Rows.ThreadName.
	Names bool
	// SwitchCPUs are the CPUs whose context switches are needed; nil means all.
	SwitchCPUs []int
	// Ordered asks for samples in time order. Otherwise only windows are in order: samples of one
	// window come before those of the next.
	Ordered bool
	Stacks  stack.Stacks
	// Urgent are indexes of Samplings. If samples come too fast to read interpreted functions at
	// all of them, these go first: see atsample.WakeupThrottle.
	Urgent []int
	// Switched, unless nil, reports whether the thread of a sample leaves its CPU. next is the
	// thread that runs there next, or 0 if the sample does not say. sampling is an index into
	// Samplings. It may be called from any goroutine. With Stacks.Interpreted, threads that have left
	// are read while they wait. Then samples or Switches must report every thread that continues.
	Switched func(sampling int, s *perfevent.Sample) (leaves bool, next uint32)
	Metrics  []profile.Metric // the columns of a row
	// Histogram, unless nil, adds a histogram to each row: see Rows.Observe.
	Histogram *histogram.Scale
	// Standing marks metrics that are a state at the end of a window, such as memory not freed. The
	// values of several windows must not be added.
	Standing bool
}
