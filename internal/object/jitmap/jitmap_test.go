package jitmap

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
)

// dumpFile makes a file of records, with a header longer than today's.
func dumpFile(records ...[]byte) []byte {
	var b []byte
	for _, v := range []uint32{magic, 1, headerSize + 8, 62, 0, 7} {
		b = binary.LittleEndian.AppendUint32(b, v)
	}
	b = append(b, make([]byte, headerSize+8-len(b))...)
	return append(b, bytes.Join(records, nil)...)
}

func jitRecord(kind uint32, words []uint64, rest string) []byte {
	var b []byte
	b = binary.LittleEndian.AppendUint32(b, kind)
	b = binary.LittleEndian.AppendUint32(b, uint32(prefixSize+8+8*len(words)+len(rest)))
	b = binary.LittleEndian.AppendUint64(b, 1)
	b = append(b, make([]byte, 8)...) // pid, tid
	for _, w := range words {
		b = binary.LittleEndian.AppendUint64(b, w)
	}
	return append(b, rest...)
}

// sample is a file with records of all kinds, good ones and bad ones. The last is incomplete.
func sample() []byte {
	load := func(addr, size, index uint64, name string) []byte {
		return jitRecord(recordLoad, []uint64{addr, addr, size, index}, name+"\x00code")
	}
	return dumpFile(
		load(0x1000, 0x100, 1, "first"),
		jitRecord(2, []uint64{1, 2}, "lines"),
		load(0x2000, 0x100, 2, "second"),
		jitRecord(recordMove, []uint64{0x3000, 0x1000, 0x3000, 0x100, 1}, ""),
		load(0x2040, 0x10, 3, "within"),
		jitRecord(recordMove, []uint64{0x9000, 0x8000, 0x9000, 0x100, 99}, ""),
		load(0x4000, 0, 4, "nothing"),
		load(0x5000, 0x10, 5, "half")[:60],
	)
}

// readAll returns the entries that r has now, as text.
func readAll(t *testing.T, r *Reader) (entries []string) {
	t.Helper()
	for {
		e, err := r.Next()
		if err == io.EOF {
			return entries
		}
		if err != nil {
			t.Fatal(err)
		}
		entries = append(entries, fmt.Sprintf("%x %x %s @%d", e.Start, e.Size, e.Name, e.Time))
	}
}

func TestTheEntriesOfAJitdumpFile(t *testing.T) {
	r := NewReader(bytes.NewReader(sample()))
	want := []string{"1000 100 first @1", "2000 100 second @1", "3000 100 first @1", "2040 10 within @1"}
	if got := readAll(t, r); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if r.BadLines != 2 {
		t.Errorf("%d bad records, want 2", r.BadLines)
	}
}

func TestTheCPUsOwnTimesAreNoTimes(t *testing.T) {
	file := sample()
	file[32] |= otherClock
	for _, e := range readAll(t, NewReader(bytes.NewReader(file))) {
		if !strings.HasSuffix(e, "@0") {
			t.Errorf("%s has a time", e)
		}
	}
}

// A file that grows by any number of bytes has the entries that it has in the end.
func TestAReaderContinuesWhereItStopped(t *testing.T) {
	text := []byte("1000 10 a\nnonsense\n\n2000 10 b c\n3000 10 d\n")
	for name, file := range map[string][]byte{"text": text, "jitdump": sample()} {
		want := readAll(t, NewReader(bytes.NewReader(file)))
		for step := 1; step < len(file); step++ {
			r := NewReader(bytes.NewReader(nil))
			r.Whole = true
			var got []string
			for size := step; size < len(file)+step; size += step {
				r.Continue(bytes.NewReader(file[r.Offset():min(size, len(file))]))
				got = append(got, readAll(t, r)...)
			}
			if !slices.Equal(got, want) {
				t.Fatalf("%s in steps of %d bytes: got %q, want %q", name, step, got, want)
			}
		}
	}
}

// repeated reads the header of a jitdump file, and then one record again and again, with an index that counts up.
type repeated struct {
	rest, record []byte
	index        uint64
	left         int
}

func (r *repeated) Read(b []byte) (int, error) {
	if len(r.rest) == 0 {
		if r.left == 0 {
			return 0, io.EOF
		}
		r.left--
		r.index++
		binary.LittleEndian.PutUint64(r.record[prefixSize+32:], r.index)
		r.rest = r.record
	}
	n := copy(b, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

func TestTheNamesForMovedCodeAreBounded(t *testing.T) {
	const records = 2 * maxLoaded / MaxName
	name := strings.Repeat("x", MaxName)
	r := NewReader(&repeated{rest: dumpFile(), left: records,
		record: jitRecord(recordLoad, []uint64{0x1000, 0x1000, 0x100, 0}, name+"\x00code")})
	n := 0
	for _, err := r.Next(); err != io.EOF; _, err = r.Next() {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	if kept := len(r.dump.loaded) * MaxName; n != records || kept == 0 || kept > maxLoaded {
		t.Errorf("%d entries, %d bytes of names are kept", n, kept)
	}
}

func FuzzReader(f *testing.F) {
	f.Add(sample())
	f.Add([]byte("1000 10 a\n1008 10 b c\n1000 4 d"))
	f.Fuzz(func(t *testing.T, file []byte) {
		r := NewReader(bytes.NewReader(file))
		last := int64(-1)
		for {
			e, err := r.Next()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if e.Size == 0 || len(e.Name) == 0 || len(e.Name) > MaxName || e.Offset <= last || e.Offset >= r.Offset() {
				t.Fatalf("after %d: %+v", last, e)
			}
			last = e.Offset
		}
		if r.Offset() > int64(len(file)) {
			t.Fatalf("%d bytes read of %d", r.Offset(), len(file))
		}
	})
}
