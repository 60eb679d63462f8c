package live

import (
	"github.com/ringtap/ringtap/internal/engine"
	"github.com/ringtap/ringtap/perfevent"
)

// Account says what became of the hits of a run.
type Account struct {
	engine.Account
	Probes []Book // of each attach point, in the order of Account's events
	// Missed are the hits that the kernel itself left out, by attach point: it was handling
	// another probe, or too many calls were under way.
	Missed map[string]uint64
	Own    uint64 // ringtap's own hits, which no clause saw
	// OwnSeen are ringtap's own hits that clauses saw. Their records were lost, so ringtap could not subtract them
	// from the kernel's counts.
	OwnSeen uint64
	Unseen  uint64 // hits that still waited when Patience was over, which no clause saw
	// Hidden are the new threads whose first hits may be missing: each has the ID of an earlier
	// thread whose hits the kernel still left out.
	Hidden uint64
	Stacks uint64 // hits whose stack was dropped, because too many were kept already
	// Users counts the user stacks that clauses asked for. Cut counts the truncated ones among them.
	Users, Cut uint64
	Late       uint64 // reads of the memory of processes after the hits
	Gone       uint64 // late reads that failed because the process ran another program by then
	Ended      uint64 // values of curtask that are missing: the threads had ended
	// Texts counts the texts that parameters of system calls and user probes point to. Missing counts those that
	// could not be read any more. CutTexts counts those of user probes that end in "...".
	Texts, Missing, CutTexts uint64
	Rests                    string // see syscalltext.Attachment.Rests
	// Interpreted says how functions of interpreted code in stacks are known, if there were any.
	Interpreted []string
	// Probed counts the hits at which clauses took values from an event probe's record. Unprobed
	// counts those whose record was lost: the values were 0. ProbesLost counts all records of event
	// probes that the kernel had no room for, even if no clause asked for them.
	Probed, Unprobed, ProbesLost uint64
}

// Book says what became of the hits of one event. Several clauses may share the event.
type Book struct {
	Name string // its attach point, or a place that it matches
	perfevent.Account
}

// books returns the accounts of the events with their names.
func (f *feed) books() []Book {
	var books []Book
	for i, s := range f.sources {
		if i >= len(f.account.Events) || len(s.uses) == 0 {
			continue
		}
		use := &s.uses[0]
		name := use.probe
		if use.placed {
			name = s.event.Uses[0].Point.Text
		}
		books = append(books, Book{name, f.account.Events[i]})
	}
	return books
}

// missed counts the hits that the kernel left out.
func (f *feed) missed() error {
	f.account.Missed = make(map[string]uint64)
	for _, set := range f.sets {
		n, err := set.Missed()
		if err != nil {
			return err
		}
		if n > 0 {
			f.account.Missed[set.name] += n
		}
	}
	return nil
}

// accountPointees sets ProbesLost. It returns the error that ended the reading of event probes, if any.
func (f *feed) accountPointees() error {
	if f.pointees == nil {
		return nil
	}
	f.pointees.mu.Lock()
	defer f.pointees.mu.Unlock()
	var err error
	if f.account.ProbesLost, err = f.pointees.pipe.Lost(); f.pointees.err != nil {
		err = f.pointees.err
	}
	return err
}
