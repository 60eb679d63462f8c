package moment

import (
	"encoding/binary"
	"hash/fnv"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/interp"
)

// Chain is the calls of one runtime in a thread, leaf first.
type Chain struct {
	Runtime uint64 // IDOf its name
	Calls   []interp.Call
	End     callchain.End
}

// IDOf stands for a runtime: the helper and its caller attach each for itself.
func IDOf(name string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(name))
	return h.Sum64()
}

// What lies in the data of a reading, in words of 8 bytes: for each chain its runtime, the
// number of its calls with its end in the lowest byte, and its calls.
const (
	wordSize  = 8
	headWords = 2
	callWords = 4
)

// head is the words before the calls of a chain, and words those of a call.
func head(runtime uint64, calls []interp.Call, end callchain.End) [headWords]uint64 {
	return [headWords]uint64{runtime, uint64(len(calls))<<8 | uint64(end)}
}

func words(c *interp.Call) [callWords]uint64 {
	entry := uint64(0)
	if c.Entry {
		entry = entryBit
	}
	return [callWords]uint64{c.Code, c.At, c.Cookie, entry}
}

// entryBit is set in the fourth word of a call that has Call.Entry.
const entryBit = 1

// beyondMark is in place of a runtime where no other chain follows, but what beyond has kept.
const beyondMark = 0

// parse reads the chains of a reading's data, and returns the rest. It is the helper's, which
// reads hostile memory.
func parse(data []byte) (chains []Chain, rest []byte, ok bool) {
	word := func(i int) uint64 { return binary.LittleEndian.Uint64(data[i*wordSize:]) }
	for len(data) > 0 {
		if len(data) < headWords*wordSize {
			return nil, nil, false
		}
		if word(0) == beyondMark {
			return chains, data, true
		}
		c := Chain{Runtime: word(0), End: callchain.End(word(1) & 0xff)}
		n := word(1) >> 8
		data = data[headWords*wordSize:]
		if n > uint64(len(data)/(callWords*wordSize)) {
			return nil, nil, false
		}
		c.Calls = make([]interp.Call, n)
		for i := range c.Calls {
			at := i * callWords
			c.Calls[i] = interp.Call{Code: word(at), At: word(at + 1), Cookie: word(at + 2), Entry: word(at+3)&entryBit != 0}
		}
		data = data[int(n)*callWords*wordSize:]
		chains = append(chains, c)
	}
	return chains, nil, true
}

// What a helper is told: one byte, the pid in four, and two addresses in eight each.
const (
	attachTo    = 'a' // with a new process of that pid
	beyondOf    = 'b' // read its stacks behind the copies; its memory has changed
	goesIntoGo  = 'g' // the code from addr to to switches to a goroutine's stack: read C's stack there; its memory has changed
	goesIntoC   = 'c' // the code from addr to to switches to the system stack: read the goroutine's stack there; likewise
	overOf      = 'o' // chains of stacks below an address lead over what lies up to another one
	noneBeyond  = 'n' // do not any more where a sampling has them
	topOf       = 'e' // no stack that lies below an address goes on beyond it
	resend      = 'r' // pages, as if none had been handed over
	forget      = 'f'
	messageSize = 21
)

// news is what a message says.
type news struct {
	what byte
	pid  int
	addr uint64 // of topOf, overOf, goesIntoGo and goesIntoC; the sampling of noneBeyond
	to   uint64 // of overOf, goesIntoGo and goesIntoC
}

// crossing is what goesIntoGo and goesIntoC say.
func (n news) crossing() (callchain.Crossing, bool) {
	return callchain.Crossing{Start: n.addr, End: n.to, IntoGo: n.what == goesIntoGo}, n.what == goesIntoGo || n.what == goesIntoC
}

// message is the news as a helper is told them.
func (n news) message() []byte {
	b := binary.LittleEndian.AppendUint32([]byte{n.what}, uint32(n.pid))
	return binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(b, n.addr), n.to)
}

// told reads them.
func told(b []byte) (n news, ok bool) {
	if len(b) != messageSize {
		return news{}, false
	}
	return news{b[0], int(binary.LittleEndian.Uint32(b[1:])), binary.LittleEndian.Uint64(b[5:]), binary.LittleEndian.Uint64(b[13:])}, true
}

// change is the areas of a process's stacks that the news leave of those that were known.
func (n news) change(known []area) []area {
	switch n.what {
	case beyondOf, goesIntoGo, goesIntoC:
		return areas(n.pid)
	case topOf:
		return split(known, n.addr)
	case overOf:
		return over(known, n.addr, n.to)
	}
	return known
}
