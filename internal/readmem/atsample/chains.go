package atsample

import (
	"encoding/binary"
	"hash/fnv"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/runtimes/interp"
)

// Chain is the calls of one runtime in a thread, leaf first.
type Chain struct {
	Runtime uint64 // RuntimeID of its name
	Calls   []interp.Call
	End     callchain.End
}

// RuntimeID returns a number that identifies a runtime by its name with version. The helper and its caller each
// attach to a runtime, and have nothing but its name in common.
func RuntimeID(name string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(name))
	return h.Sum64()
}

// A reading's data is words of 8 bytes. Each chain has two header words: its runtime's ID, then the number of
// its calls with the End in the lowest byte. Its calls follow, four words each.
const (
	wordSize       = 8
	wordsPerHeader = 2
	wordsPerCall   = 4
)

// headerWords returns the words that precede the calls of a chain.
func headerWords(runtime uint64, calls []interp.Call, end callchain.End) [wordsPerHeader]uint64 {
	return [wordsPerHeader]uint64{runtime, uint64(len(calls))<<8 | uint64(end)}
}

// wordsOf returns the words of a call.
func wordsOf(c *interp.Call) [wordsPerCall]uint64 {
	entry := uint64(0)
	if c.Entry {
		entry = entryBit
	}
	return [wordsPerCall]uint64{c.Code, c.At, c.Cookie, entry}
}

// entryBit is set in the fourth word of a call whose Entry is true.
const entryBit = 1

// stacksMark is in the place of a runtime's ID after the last chain, if parts of stacks follow. See
// pageTables.decode.
const stacksMark = 0

// decodeChains decodes the chains of a reading's data, and returns the data from stacksMark on. It reports false
// if data is malformed. data comes from the helper, which reads the memory of hostile processes.
func decodeChains(data []byte) (chains []Chain, rest []byte, ok bool) {
	word := func(i int) uint64 { return binary.LittleEndian.Uint64(data[i*wordSize:]) }
	for len(data) > 0 {
		if len(data) < wordsPerHeader*wordSize {
			return nil, nil, false
		}
		if word(0) == stacksMark {
			return chains, data, true
		}
		c := Chain{Runtime: word(0), End: callchain.End(word(1) & 0xff)}
		n := word(1) >> 8
		data = data[wordsPerHeader*wordSize:]
		if n > uint64(len(data)/(wordsPerCall*wordSize)) {
			return nil, nil, false
		}
		c.Calls = make([]interp.Call, n)
		for i := range c.Calls {
			first := i * wordsPerCall
			c.Calls[i] = interp.Call{Code: word(first), At: word(first + 1), Cookie: word(first + 2), Entry: word(first+3)&entryBit != 0}
		}
		data = data[int(n)*wordsPerCall*wordSize:]
		chains = append(chains, c)
	}
	return chains, nil, true
}

// namers has the Namers of a process's runtimes, by RuntimeID.
type namers map[uint64]*interp.Namer

func newNamers(runtimes []*interp.Namer) namers {
	namers := make(namers)
	for _, r := range runtimes {
		namers[RuntimeID(r.Name())] = r
	}
	return namers
}

// nameCalls looks up the names of calls while the process is still there.
func (n namers) nameCalls(chains []Chain) {
	for _, c := range chains {
		if namer := n[c.Runtime]; namer != nil {
			namer.Note(c.Calls)
		}
	}
}
