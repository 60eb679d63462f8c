package interp

import (
	"bytes"
	"testing"

	"golang.org/x/sys/unix"
)

// counted is memory from an address on, of which nothing behind its end can be read. It counts how often it is read.
type counted struct {
	addr  uint64
	bytes []byte
	reads int
}

func (m *counted) Read(addr uint64, b []byte) bool {
	return m.ReadMany([]unix.RemoteIovec{{Base: uintptr(addr), Len: len(b)}}, b) == len(b)
}

func (m *counted) ReadMany(pieces []unix.RemoteIovec, b []byte) (n int) {
	m.reads++
	for _, p := range pieces {
		at := uint64(p.Base) - m.addr
		if at > uint64(len(m.bytes)) {
			return n
		}
		got := copy(b[n:][:p.Len], m.bytes[at:])
		if n += got; got < p.Len {
			return n
		}
	}
	return n
}

func TestWhatAWalkReadsIsWhatIsThereNow(t *testing.T) {
	m := &counted{addr: 0x10000, bytes: make([]byte, 100*8)}
	a := NewAhead(m)
	for walk := range byte(4) {
		for i := range m.bytes {
			m.bytes[i] = walk + byte(i)
		}
		a.Begin(7)
		for at := 0; at < len(m.bytes); at += 8 {
			var b [8]byte
			if !a.Read(m.addr+uint64(at), b[:]) || !bytes.Equal(b[:], m.bytes[at:at+8]) {
				t.Errorf("walk %d reads %v at %d, want %v", walk, b, at, m.bytes[at:at+8])
			}
		}
	}
}

// A walk reads what the last one has read, behind leaves of its own.
func TestAWalkAsTheLastOneTakesFewReads(t *testing.T) {
	m := &counted{addr: 0x10000, bytes: make([]byte, 1000*8)}
	a := NewAhead(m)
	walk := func(tid, leaves int) int {
		m.reads = 0
		a.Begin(tid)
		var b [8]byte
		for i := range leaves + 300 {
			if at := i - leaves; at >= 0 {
				a.Read(m.addr+8*uint64(at), b[:])
			} else {
				a.Read(m.addr+8*uint64(500+10*leaves+i), b[:])
			}
		}
		return m.reads
	}
	for _, w := range []struct{ tid, leaves, most int }{{1, 0, 300}, {1, 0, 6}, {1, 5, 11}, {2, 5, 305}, {1, 7, 13}, {2, 5, 6}} {
		if got := walk(w.tid, w.leaves); got > w.most {
			t.Errorf("a walk of thread %d behind %d leaves takes %d reads, want %d", w.tid, w.leaves, got, w.most)
		}
	}
}

// A piece of the last walk is gone: what lies behind it is read all the same.
func TestWhatIsGoneIsNotThere(t *testing.T) {
	m := &counted{addr: 0x10000, bytes: make([]byte, 20*8)}
	a := NewAhead(m)
	walk := func() (there int) {
		a.Begin(1)
		var b [8]byte
		for i := range 20 {
			at := i * 7 % 20
			ok := a.Read(m.addr+8*uint64(at), b[:])
			if want := 8*at+8 <= len(m.bytes); ok != want {
				t.Errorf("word %d of %d bytes is there: %v, want %v", at, len(m.bytes), ok, want)
			}
			if ok {
				there++
			}
		}
		return there
	}
	if n := walk(); n != 20 {
		t.Fatalf("%d words, want 20", n)
	}
	m.bytes = m.bytes[:10*8+4]
	if n := walk(); n != 10 {
		t.Errorf("%d words, want 10", n)
	}
}

// Whatever is read, of whatever threads, while memory changes between walks: it is what the memory has.
func FuzzAhead(f *testing.F) {
	f.Add([]byte("\x00\x01\x10\x08\x20\x08\xff\x00\x01\x10\x08\x20\x08\x10\x08"))
	f.Add(bytes.Repeat([]byte("\x00\x01abcdefghabcdefghABCDEFGH"), 40))
	f.Fuzz(func(t *testing.T, data []byte) {
		m := &counted{addr: 1<<64 - 4096, bytes: make([]byte, 4000)}
		a := NewAhead(m)
		a.Begin(0)
		got, want := make([]byte, 1024), make([]byte, 1024)
		for ; len(data) >= 2; data = data[2:] {
			if data[0] == 0 { // another walk
				for i := range m.bytes {
					m.bytes[i] += data[1] + byte(i)
				}
				m.bytes = m.bytes[:max(2000, len(m.bytes)-int(data[1]))]
				a.Begin(int(data[1] % 3 * aheadThreads))
				continue
			}
			addr, n := m.addr+16*uint64(data[0]), int(data[1])*4
			ok := m.Read(addr, want[:n])
			if a.Read(addr, got[:n]) != ok || ok && !bytes.Equal(got[:n], want[:n]) {
				t.Fatalf("%d bytes at %#x are %v, want %v", n, addr, got[:n], want[:n])
			}
		}
	})
}
