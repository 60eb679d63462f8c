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

// parse reads the data of a reading. It is the helper's, which reads hostile memory.
func parse(data []byte) (chains []Chain, ok bool) {
	word := func(i int) uint64 { return binary.LittleEndian.Uint64(data[i*wordSize:]) }
	for len(data) > 0 {
		if len(data) < headWords*wordSize {
			return nil, false
		}
		c := Chain{Runtime: word(0), End: callchain.End(word(1) & 0xff)}
		n := word(1) >> 8
		data = data[headWords*wordSize:]
		if n > uint64(len(data)/(callWords*wordSize)) {
			return nil, false
		}
		c.Calls = make([]interp.Call, n)
		for i := range c.Calls {
			at := i * callWords
			c.Calls[i] = interp.Call{Code: word(at), At: word(at + 1), Cookie: word(at + 2), Entry: word(at+3)&entryBit != 0}
		}
		data = data[int(n)*callWords*wordSize:]
		chains = append(chains, c)
	}
	return chains, true
}

// What a helper is told: one byte, and the pid in four.
const (
	attachTo    = 'a' // with a new process of that pid
	threadsOf   = 't' // list them, of a process in another pid namespace
	forget      = 'f'
	messageSize = 5
)

// tell makes a message.
func tell(what byte, pid int) []byte {
	return binary.LittleEndian.AppendUint32([]byte{what}, uint32(pid))
}

// told reads one.
func told(b []byte) (what byte, pid int, ok bool) {
	if len(b) != messageSize {
		return 0, 0, false
	}
	return b[0], int(binary.LittleEndian.Uint32(b[1:])), true
}
