package helper

import (
	"errors"

	"github.com/ringtap/ringtap/perfevent"
)

// Visitor reads the memory of sampled threads. Each CPU has a Visitor of its own, which may keep
// memory from one visit to the next.
type Visitor interface {
	// Visit reads the memory of the sampled thread and keeps what the caller is to get. It does
	// both with the methods of v.
	//
	// Visit runs on the real-time thread of the sample's CPU. So it must not allocate, lock,
	// wait, or write to memory other than its own. It must return as soon as a method of v
	// fails with ErrTime.
	//
	// If Visit returns an error, which should be that of a method of v, the reading's Certainty
	// is None. The caller still gets what was kept.
	Visit(v *Visit) error
}

// SampleFilter is a Visitor that skips some samples.
type SampleFilter interface {
	Visitor
	// Accepts reports whether a sample is to be visited. Samples that are not accepted have
	// no Reading. The rules are those of Visit.
	Accepts(s *perfevent.Sample) bool
}

// Receiver is a Visitor that receives what the caller passes to Reader.Send.
type Receiver interface {
	Visitor
	// Receive handles data from the caller. It runs on an ordinary goroutine, the same one for
	// all CPUs' visitors, possibly at the same time as Visit. So it may read files and
	// allocate, but that memory is never freed: the child does not collect garbage. It must
	// publish atomically what Visit reads.
	Receive(data []byte)
}

// NewVisitor makes the Visitor of one CPU. config is what Start or FollowSession was given.
type NewVisitor func(config []byte) (Visitor, error)

// The errors of Visit's methods.
var (
	// ErrTime is returned when the visit has taken Options.VisitTime.
	ErrTime = errors.New("the visit took too long")
	// ErrMemory is returned when some of the memory cannot be read.
	ErrMemory = errors.New("memory could not be read")
	// ErrFull is returned when more was to be kept than Options.VisitBytes.
	ErrFull = errors.New("too much to keep")
)

// reasonOf returns the reason for a reading whose visitor returned err.
func reasonOf(err error) Reason {
	switch err {
	case nil:
		return NoReason
	case ErrTime:
		return TimedOut
	case ErrFull:
		return TooMuchData
	}
	return Unreadable
}
