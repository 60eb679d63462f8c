package perfdata

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// oneEvent is the event of hostile_test.go's records.
func oneEvent() []Event {
	var f File
	f.addEvent(attr(), u64s(firstID))
	f.Events[0].Name = "cpu-clock"
	return f.Events
}

// memory is a file in memory. It keeps what the file was after each write, which is what a
// recorder leaves that is killed then.
type memory struct {
	now    []byte
	states [][]byte
	room   int // bytes that fit; 0: all
}

var errFull = errors.New("no space left")

func (m *memory) WriteAt(b []byte, at int64) (int, error) {
	end := int(at) + len(b)
	if m.room > 0 && end > m.room {
		n := copy(m.now[at:], b) // what has a place already
		return n, errFull
	}
	if end > len(m.now) {
		m.now = append(m.now, make([]byte, end-len(m.now))...)
	}
	copy(m.now[at:], b)
	m.states = append(m.states, bytes.Clone(m.now))
	return len(b), nil
}

func (m *memory) Close() error { return nil }

// toMemory starts a recording in m.
func toMemory(t *testing.T, m *memory, opts WriteOptions) *Writer {
	t.Helper()
	events := oneEvent()
	w, err := newWriter(events, opts)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.start(&fileOutput{file: m}, events, opts); err != nil {
		t.Fatal(err)
	}
	return w
}

// writtenOptions and writtenSections have a value for each field that is written.
var (
	writtenOptions = WriteOptions{Info: Info{Hostname: "host", Release: "6.1", PerfVersion: "0.1", Arch: "x86_64", CPUDesc: "a CPU",
		CPUs: 2, PossibleCPUs: 4, TotalMemory: 1 << 20, Command: []string{"ringtap", "", "a b"}, Wall: 5, ClockTime: 6, ClockResolution: 1},
		TracingData: tracingData()}
	writtenSections = Sections{BuildIDs: []BuildID{{PID: -1, Kernel: true, ID: bytes.Repeat([]byte{0xab}, 20), Filename: "[kernel.kallsyms]"},
		{PID: -1, ID: []byte{1, 2, 0}, Filename: "/bin/x"}}, Other: map[int][]byte{133: []byte("other"), 255: {}},
		Symbols: []SymbolTable{
			{"[kernel.kallsyms]", KernelSymbols, "", "", []Symbol{{0xffffffff81000000, 16, "_text"}, {0xffffffff81000010, 1, "do_nmi"}}},
			{"/bin/x", FileSymbols, "", "", []Symbol{{0x1000, 1 << 31, "_ZN1a1bEv"}}},
			{"/tmp/perf-10.map", GeneratedSymbols, "", "", []Symbol{{0x7f0000000000, 8, "LazyCompile:~f"}}},
			{"/app/a.py:f", RuntimeSymbols, "CPython 3.12", "/app/a.py", []Symbol{{0, 1 << 24, "f"}}},
		}}
)

func TestWhatAWriterWroteIsRead(t *testing.T) {
	var m memory
	checkWritten(t, toMemory(t, &m, writtenOptions), func() []byte { return m.now })
}

func TestWhatAWriterWroteToAPipeIsRead(t *testing.T) {
	for _, level := range []int{0, 1} {
		var b bytes.Buffer
		opts := writtenOptions
		opts.Level = level
		w, err := NewPipeWriter(&b, oneEvent(), opts)
		if err != nil {
			t.Fatal(err)
		}
		checkWritten(t, w, b.Bytes)
	}
}

// checkWritten writes records and sections, and compares them with what is read of the result.
func checkWritten(t *testing.T, w *Writer, result func() []byte) {
	t.Helper()
	for _, r := range [][]byte{comm(10), sample(30), sample(20)} {
		if err := errors.Join(w.Record(r), w.Round()); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(writtenSections); err != nil {
		t.Fatal(err)
	}
	f, err := reader(result())
	if err != nil || f.Problem != nil {
		t.Fatal(err, f.Problem)
	}
	got, stats, err := times(f)
	if err != nil || !slices.Equal(got, []uint64{10, 20, 30}) || stats.Cut {
		t.Errorf("%v, %+v, %v", got, stats, err)
	}
	info := f.Info
	info.Pipe, info.Compressed = false, false
	if diff := cmp.Diff(writtenOptions.Info, info); diff != "" {
		t.Errorf("(-written +read):\n%s", diff)
	}
	if diff := cmp.Diff(writtenSections.BuildIDs, f.BuildIDs); diff != "" {
		t.Errorf("(-written +read):\n%s", diff)
	}
	if diff := cmp.Diff(writtenSections.Symbols, f.Symbols); diff != "" {
		t.Errorf("(-written +read):\n%s", diff)
	}
	if e := f.Events[0]; e.Name != "cpu-clock" || !slices.Equal(e.IDs, []uint64{firstID}) || e.Attr.Size != writtenAttr || e.Attr.Sample_type != sampleType {
		t.Errorf("%+v", e)
	}
	if err := w.Record(comm(1)); !errors.Is(err, os.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

// A recorder may be killed after any write. What was flushed before is then in the recording.
func TestARecordingIsIntactAfterEachWrite(t *testing.T) {
	for _, level := range []int{0, 1, 22} {
		t.Run(fmt.Sprint("zstd level ", level), func(t *testing.T) { testIntact(t, level) })
	}
}

func testIntact(t *testing.T, level int) {
	var m memory
	opts := writtenOptions
	opts.Level = level
	w := toMemory(t, &m, opts)
	m.states = m.states[len(m.states)-1:] // Create returns
	least := []int{0}                     // records that each state has at least
	for n := range 20 {
		if err := errors.Join(w.Record(sample(uint64(n+1))), w.Record(comm(uint64(n+1))), w.Round(), w.Flush()); err != nil {
			t.Fatal(err)
		}
		for len(least) < len(m.states)-1 {
			least = append(least, 2*n)
		}
		least = append(least, 2*(n+1))
	}
	if err := w.Close(writtenSections); err != nil {
		t.Fatal(err)
	}
	for i, b := range m.states {
		want := 40
		if i < len(least) {
			want = least[i]
		}
		f, err := reader(b)
		if err != nil || f.Problem != nil {
			t.Fatalf("state %d: %v, %v", i, err, f.Problem)
		}
		got, stats, err := times(f)
		if err != nil || len(got) < want || stats.Malformed > 0 || len(f.BuildIDs) == 0 && i == len(m.states)-1 {
			t.Fatalf("state %d: %d records of %d, %+v, %v", i, len(got), want, stats, err)
		}
	}
}

func TestAWriterRefusesWhatIsNotARecord(t *testing.T) {
	var m memory
	w := toMemory(t, &m, WriteOptions{})
	longer, shorter := sample(1), sample(1)
	binary.LittleEndian.PutUint16(longer[6:], uint16(len(longer)+8))
	binary.LittleEndian.PutUint16(shorter[6:], uint16(len(shorter)-8))
	for name, b := range map[string][]byte{
		"nothing": nil, "half a header": sample(1)[:4], "a size beyond it": longer, "a size below it": shorter, "two records": append(sample(1), sample(2)...),
		"a size that breaks the next record's alignment": userRecord(2, []byte{1}), "a record of perf's": userRecord(recordTracingData, u64s(1<<30)),
		"a record without a type": userRecord(0, nil),
	} {
		if err := w.Record(b); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
	if err := w.Record(sample(7)); err != nil {
		t.Error(err)
	}
	if err := w.Close(Sections{}); err != nil {
		t.Fatal(err)
	}
	f, err := reader(m.now)
	if err != nil {
		t.Fatal(err)
	}
	if got, _, err := times(f); err != nil || !slices.Equal(got, []uint64{7}) {
		t.Errorf("%v, %v", got, err)
	}
}

func TestSectionsThatDoNotFitAreAnError(t *testing.T) {
	for name, s := range map[string]Sections{
		"the writer's own":   {Other: map[int][]byte{featureHostname: nil}},
		"number 0":           {Other: map[int][]byte{0: nil}},
		"number 256":         {Other: map[int][]byte{256: nil}},
		"a long build id":    {BuildIDs: []BuildID{{ID: make([]byte, 21)}}},
		"a long name":        {BuildIDs: []BuildID{{Filename: string(make([]byte, 1<<16))}}},
		"a name just longer": {BuildIDs: []BuildID{{Filename: string(make([]byte, maxRecord-36))}}},
	} {
		var m memory
		w := toMemory(t, &m, WriteOptions{})
		if err := errors.Join(w.Record(sample(7)), w.Close(s)); err == nil {
			t.Errorf("%s: no error", name)
		}
		if f, err := reader(m.now); err != nil {
			t.Errorf("%s: %v", name, err)
		} else if got, _, err := times(f); err != nil || len(got) != 1 {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}

func TestAFullDiskLeavesWhatWasFlushed(t *testing.T) {
	for _, room := range []int{4096, 4100, 4150} {
		m := memory{room: room}
		w := toMemory(t, &m, writtenOptions)
		flushed, err := 0, error(nil)
		for n := 0; err == nil; n++ {
			if err = w.Record(sample(uint64(n + 1))); err == nil {
				if err = w.Flush(); err == nil {
					flushed++
				}
			}
		}
		if again := w.Close(Sections{}); !errors.Is(err, errFull) || again != err {
			t.Errorf("%v, then %v", err, again)
		}
		checkFull(t, &m, flushed)
	}
}

// The disk may be full at the end, when there is no room for the build ids.
func TestAFullDiskAtTheEndLeavesAllRecords(t *testing.T) {
	m := memory{}
	w := toMemory(t, &m, writtenOptions)
	if err := errors.Join(w.Record(sample(1)), w.Flush()); err != nil {
		t.Fatal(err)
	}
	m.room = len(m.now)
	if err := w.Close(writtenSections); !errors.Is(err, errFull) {
		t.Error(err)
	}
	checkFull(t, &m, 1)
}

// checkFull checks what is read after the disk was full: so many records, and the early features.
func checkFull(t *testing.T, m *memory, records int) {
	t.Helper()
	f, err := reader(m.now)
	if err != nil || f.Problem != nil {
		t.Fatal(err, f.Problem)
	}
	if got, stats, err := times(f); err != nil || len(got) != records || stats.Cut {
		t.Errorf("%d records, %d were flushed: %+v, %v", len(got), records, stats, err)
	}
	if diff := cmp.Diff(writtenOptions.Info, f.Info); diff != "" {
		t.Errorf("(-written +read):\n%s", diff)
	}
}

func TestEventsThatReadersCannotTellApartAreRefused(t *testing.T) {
	one := oneEvent()
	without := oneEvent()
	without[0].IDs = nil
	elsewhere := oneEvent()
	elsewhere[0].Attr.Sample_type &^= 1 // the ip
	for name, events := range map[string][]Event{"no event": nil, "no ids": append(one, without...), "ids elsewhere": append(one, elsewhere...)} {
		path := filepath.Join(t.TempDir(), "perf.data")
		if _, err := Create(path, events, WriteOptions{}); err == nil {
			t.Errorf("%s: no error", name)
		}
		if _, err := os.Stat(path); err == nil {
			t.Errorf("%s: there is a file", name)
		}
	}
}

// perf takes at most HEADER_COMPRESSED's size from a COMPRESSED record, and at least a byte.
func TestRecordsThatCannotBePackedFit(t *testing.T) {
	var m memory
	w := toMemory(t, &m, WriteOptions{Level: 1})
	random := rand.NewChaCha8([32]byte{})
	const n = 40
	for i := range n {
		body := make([]byte, maxRecord-headerSize)
		if _, err := random.Read(body); err != nil {
			t.Fatal(err)
		}
		copy(body, u64s(0x401000, 7<<32|7, uint64(i+1), firstID))
		if err := w.Record(userRecord(9, body)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(Sections{}); err != nil {
		t.Fatal(err)
	}
	f, err := reader(m.now)
	if err != nil {
		t.Fatal(err)
	}
	if got, stats, err := times(f); err != nil || len(got) != n || stats.Malformed > 0 {
		t.Errorf("%d of %d records, %+v, %v", len(got), n, stats, err)
	}
}

func TestALevelThatZstdLacksIsAnError(t *testing.T) {
	for _, level := range []int{-1, 23} {
		if _, err := newWriter(oneEvent(), WriteOptions{Level: level}); err == nil {
			t.Errorf("level %d is taken", level)
		}
	}
}

func BenchmarkRecord(b *testing.B) {
	record := userRecord(9, append(u64s(0x401000, 7<<32|7, 1, firstID), make([]byte, 160)...))
	for _, level := range []int{0, 1} {
		b.Run(fmt.Sprint("zstd level ", level), func(b *testing.B) {
			w, err := NewPipeWriter(io.Discard, oneEvent(), WriteOptions{Level: level})
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(len(record)))
			b.ReportAllocs()
			for n := uint64(0); b.Loop(); n++ {
				binary.LittleEndian.PutUint64(record[24:], n)
				if err := w.Record(record); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
