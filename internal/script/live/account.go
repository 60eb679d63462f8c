package live

import (
	"github.com/ringtap/ringtap/internal/run"
	"github.com/ringtap/ringtap/perfevent"
)

// Account is where the hits went.
type Account struct {
	run.Account
	Probes []Book // of each attach point, in the order of Account's events
	// Missed are the hits that the kernel itself left out, by attach point: it was handling
	// another probe, or too many calls were under way.
	Missed map[string]uint64
	Own    uint64 // ringtap's own hits, which no clause saw
	// OwnSeen are ringtap's own hits that clauses saw: too many to be told from others'.
	OwnSeen uint64
	Unseen  uint64 // hits that still waited when Patience was over, which no clause saw
	// Hidden are the threads whose first hits may be missing: each got the number of one whose hits
	// the kernel left out, before it could be told not to.
	Hidden uint64
	Stacks uint64 // hits whose stack was one too many to be kept
	// Users counts the user stacks that clauses asked for, and Cut those of them that are cut short.
	Users, Cut uint64
	Late       uint64 // reads of the memory of processes after the hits
	Gone       uint64 // of these, those of programs that did not run any more
	Ended      uint64 // values of curtask that are missing: the threads had ended
	// Texts counts the texts behind parameters of system calls and at user probes, and Missing those of them
	// that were gone before anybody could read them. CutTexts, of user probes, end in "...".
	Texts, Missing, CutTexts uint64
	Rests                    string // see syscalltext.Attachment.Rests
	// Interpreted says how functions of interpreted code in stacks are known, if there were any.
	Interpreted []string
	// Probed counts the hits of which clauses took what an event probe has fetched, and Unprobed
	// those of them whose record was lost: the values were 0. ProbesLost are the records that the
	// kernel had no room for, of these hits and of others.
	Probed, Unprobed, ProbesLost uint64
}

// Book is where the hits of one event went, which may be several clauses'.
type Book struct {
	Name string // its attach point, or a place that it matches
	perfevent.Account
}

// books puts the accounts of the events under their names.
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

// bookBehind counts what the event probes have lost.
func (f *feed) bookBehind() error {
	if f.behind == nil {
		return nil
	}
	f.behind.mu.Lock()
	defer f.behind.mu.Unlock()
	var err error
	if f.account.ProbesLost, err = f.behind.pipe.Lost(); f.behind.err != nil {
		err = f.behind.err
	}
	return err
}
