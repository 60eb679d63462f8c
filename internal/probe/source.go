package probe

import (
	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/eventfilter"
	"github.com/ringtap/ringtap/internal/pair"
	"github.com/ringtap/ringtap/perfevent"
)

// Role says what a hit of a source means.
type Role uint8

// The roles of sources.
const (
	Hit    Role = iota // a place was reached
	Enter              // a call begins whose end a Return source sees
	Return             // a call ends
)

// PlaceName says what one of several places that share an event is called.
type PlaceName struct {
	Event    string // what its own event would be called
	Function string // the symbol of its function, "" if not known
}

// Source is one event that is attached.
type Source struct {
	Event  perfevent.Event
	Filter string // the kernel drops hits that it does not match; "" keeps all
	// Format describes the records: those that Record makes, or that samples carry.
	Format *ftrace.Format
	// Prepare, unless nil, adds to a sampling what Record needs besides the raw record.
	Prepare func(*perfevent.Sampling)
	// Record, unless nil, appends the record that Format describes to dst and
	// returns it. It is called once for each sample. Where it is nil the sample
	// carries that record.
	Record func(dst []byte, s *perfevent.Sample) []byte
	// Keep, unless nil, tells whether a hit that the kernel has passed matches what the
	// filter says of texts. It takes the record that Format describes.
	Keep func(record []byte) eventfilter.Answer
	// Args are what the fields of a user probe are fetched by; nil where that differs from
	// place to place.
	Args []ftrace.FetchArg
	// Places are those of an event of several: by the offset in its file of the
	// instruction that is probed, or by its address in the kernel. Nil if all hits
	// are called as Format is.
	Places map[uint64]PlaceName

	UserProbe bool   // perfevent.Sampling.UserProbe
	Path      string // of the file that a user probe is in, for people

	Role Role
	// Function is what the hit is of, as an index of Set.Functions. Places that
	// share an event share the number of the first.
	Function int
	// Site tells calls apart, of sources that are Enter or Return.
	Site pair.Site
}

// Sampling samples every hit of the source, without its record.
func (s *Source) Sampling() perfevent.Sampling {
	return perfevent.Sampling{Event: s.Event, Filter: s.Filter, Period: 1, UserProbe: s.UserProbe}
}

// PrepareRecord adds to a sampling what it takes to have the record.
func (s *Source) PrepareRecord(sampling *perfevent.Sampling) {
	sampling.Raw = true
	if s.Prepare != nil {
		s.Prepare(sampling)
	}
}
