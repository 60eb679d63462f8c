package python

import (
	"encoding/binary"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/runtimes/interp"
)

// changed is memory of which one word is another since.
type changed struct {
	interp.Memory
	at, word uint64
}

func (m *changed) Read(addr uint64, b []byte) bool {
	if !m.Memory.Read(addr, b) {
		return false
	}
	if m.at >= addr && m.at+8 <= addr+uint64(len(b)) {
		binary.LittleEndian.PutUint64(b[m.at-addr:], m.word)
	}
	return true
}

// ReadMany implements interp.Many.
func (m *changed) ReadMany(pieces []unix.RemoteIovec, b []byte) (n int) {
	for _, p := range pieces {
		if !m.Read(uint64(p.Base), b[n:][:p.Len]) {
			break
		}
		n += p.Len
	}
	return n
}

// A code object is freed between two walks, and another lies where it was.
func TestAnotherCodeObjectAtAnAddressIsAnotherFunctionAtOnce(t *testing.T) {
	for _, r := range recordings(t) {
		memory := &changed{Memory: r.Memory}
		p := r.runtime(memory)
		ahead := interp.NewAhead(memory)
		w := p.Walker(ahead)
		walk := func() interp.Call {
			ahead.Begin(r.TID)
			calls, _ := w.Walk(make([]interp.Call, 0, 4096), &interp.Thread{TID: r.TID})
			if len(calls) == 0 {
				t.Fatalf("3.%d: there are no calls", r.Minor)
			}
			return calls[0]
		}
		before := walk()
		memory.at, memory.word = before.Code+p.codeName, 0x1230
		if after := walk(); after.Code != before.Code || after.Cookie == before.Cookie {
			t.Errorf("3.%d: %+v is taken for %+v", r.Minor, after, before)
		}
	}
}
