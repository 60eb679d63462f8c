package probe

import (
	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/probe/eventfilter"
	"github.com/ringtap/ringtap/internal/probe/pair"
	"github.com/ringtap/ringtap/perfevent"
)

// Role says what a hit of a source means.
type Role uint8

// The roles of sources.
const (
	Hit    Role = iota // a place was reached
	Enter              // a call starts whose end a Return source sees
	Return             // a call ends
)

// PlaceName names one of several places that share an event.
type PlaceName struct {
	Event    string // name that its own event would have
	Function string // symbol of its function, "" if unknown
}

// Source is one attached event.
type Source struct {
	Event  perfevent.Event
	Filter string // the kernel drops hits that do not match it; "" keeps all
	// Format describes the records: those made by Record, or those in samples.
	Format *ftrace.Format
	// Prepare adds to a sampling what Record needs besides the raw record. It may be nil.
	Prepare func(*perfevent.Sampling)
	// Record appends the record described by Format to dst and returns it. Call it once for
	// each sample. If it is nil, the sample carries the record.
	Record func(dst []byte, s *perfevent.Sample) []byte
	// Keep reports whether a hit passed by the kernel matches the filter's comparisons of text.
	// It takes the record described by Format. It may be nil.
	Keep func(record []byte) eventfilter.Answer
	// Args are the fetch arguments of a user probe's fields; nil if places differ in them.
	Args []ftrace.FetchArg
	// Places are the places of an event with several: by the probed instruction's offset in its
	// file, or by its address in the kernel. It is nil if all hits have Format's name.
	Places map[uint64]PlaceName

	userProbe bool   // perfevent.Sampling.UserProbe
	Path      string // file of a user probe, for display

	Role Role
	// Function is the index of the hit's function in Set.Functions. Places that share an event
	// have the index of the first.
	Function int
	// Site is how to identify calls, for Enter and Return sources.
	Site pair.Site
}

// Sampling returns a sampling of every hit of the source, without its record.
func (s *Source) Sampling() perfevent.Sampling {
	return perfevent.Sampling{Event: s.Event, Filter: s.Filter, Period: 1, UserProbe: s.userProbe}
}

// PrepareRecord adds to a sampling what is needed to get the record.
func (s *Source) PrepareRecord(sampling *perfevent.Sampling) {
	sampling.Raw = true
	if s.Prepare != nil {
		s.Prepare(sampling)
	}
}
