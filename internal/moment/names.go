package moment

import "github.com/ringtap/ringtap/internal/interp"

// namers name the calls of a process, by the ID of their runtime.
type namers map[uint64]*interp.Namer

func newNamers(runtimes []*interp.Namer) namers {
	all := make(namers)
	for _, r := range runtimes {
		all[IDOf(r.Name())] = r
	}
	return all
}

// note has calls named while their process is there.
func (n namers) note(chains []Chain) {
	for _, c := range chains {
		if by := n[c.Runtime]; by != nil {
			by.Note(c.Calls)
		}
	}
}
