package perfdata

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/testkit/fuzzing"
	"github.com/ringtap/ringtap/perfevent"
)

// image is a recording in memory: what perf would write of a few events.
type image struct {
	attrs    [][]byte // perf_event_attr
	ids      [][]uint64
	records  []byte
	features map[int][]byte
}

// attr is the attribute of cpu-clock, by perf record -F.
func attr() []byte {
	b := make([]byte, 128)
	binary.LittleEndian.PutUint32(b, unix.PERF_TYPE_SOFTWARE)
	binary.LittleEndian.PutUint32(b[4:], 128)
	binary.LittleEndian.PutUint64(b[24:], sampleType)
	binary.LittleEndian.PutUint64(b[40:], unix.PerfBitSampleIDAll)
	return b
}

const (
	sampleType = unix.PERF_SAMPLE_IP | unix.PERF_SAMPLE_TID | unix.PERF_SAMPLE_TIME | unix.PERF_SAMPLE_ID
	firstID    = 100
)

// sample is a record of the attribute's.
func sample(time uint64) []byte {
	return userRecord(unix.PERF_RECORD_SAMPLE, u64s(0x401000, 7<<32|7, time, firstID))
}

// comm is a record that thread 7 has a new name.
func comm(time uint64) []byte {
	return userRecord(unix.PERF_RECORD_COMM, append(u64s(7<<32|7, 'x'), u64s(7<<32|7, time, firstID)...))
}

func u64s(words ...uint64) (b []byte) {
	for _, w := range words {
		b = binary.LittleEndian.AppendUint64(b, w)
	}
	return b
}

func userRecord(kind uint32, body []byte) []byte {
	b := binary.LittleEndian.AppendUint32(nil, kind)
	b = binary.LittleEndian.AppendUint16(b, 0)
	b = binary.LittleEndian.AppendUint16(b, uint16(headerSize+len(body)))
	return append(b, body...)
}

func text(s string) []byte {
	b := append([]byte(s), 0)
	for len(b)%8 != 4 {
		b = append(b, 0)
	}
	return append(binary.LittleEndian.AppendUint32(nil, uint32(len(b))), b...)
}

// bytes puts the recording together.
func (m *image) bytes() []byte {
	const attrEntry = 128 + idSection
	at := uint64(fileHeader)
	var ids, attrs []byte
	for i, a := range m.attrs {
		attrs = append(append(attrs, a...), u64s(at+uint64(len(ids)), uint64(8*len(m.ids[i])))...)
		ids = append(ids, u64s(m.ids[i]...)...)
	}
	attrsAt := at + uint64(len(ids))
	dataAt := attrsAt + uint64(len(attrs))
	b := append([]byte(Magic), u64s(fileHeader, attrEntry, attrsAt, uint64(len(attrs)), dataAt, uint64(len(m.records)), 0, 0)...)
	var bitmap [4]uint64
	for n := range m.features {
		bitmap[n/64] |= 1 << (n % 64)
	}
	b = append(b, u64s(bitmap[:]...)...)
	b = append(append(append(b, ids...), attrs...), m.records...)
	bodies, list := []byte(nil), []byte(nil)
	for n := range 256 {
		if f, ok := m.features[n]; ok {
			list = append(list, u64s(uint64(len(b)+16*len(m.features)+len(bodies)), uint64(len(f)))...)
			bodies = append(bodies, f...)
		}
	}
	return append(append(b, list...), bodies...)
}

// small is a recording of two rounds.
func small() *image {
	round := userRecord(recordFinishedRound, nil)
	m := &image{attrs: [][]byte{attr()}, ids: [][]uint64{{firstID}}, features: map[int][]byte{
		featureHostname: text("host"), featureEventDesc: append(binary.LittleEndian.AppendUint32(nil, 1),
			append(binary.LittleEndian.AppendUint32(nil, 128), append(attr(), append(binary.LittleEndian.AppendUint32(nil, 1), append(text("cpu-clock"), u64s(firstID)...)...)...)...)...),
		featureBuildID: userRecord(0, append(append(binary.LittleEndian.AppendUint32(nil, 7), bytes.Repeat([]byte{0xab}, 20)...), append(make([]byte, 4), "/bin/x\x00\x00"...)...)),
	}}
	for _, r := range [][]byte{comm(10), sample(30), sample(20), round, sample(40), sample(25), round, sample(35), sample(50)} {
		m.records = append(m.records, r...)
	}
	return m
}

// reader opens a recording in memory.
func reader(b []byte) (*File, error) {
	f := &File{}
	return f, f.parse("perf.data", bytes.NewReader(b), int64(len(b)))
}

// times are the times of all records, in their order.
func times(f *File) (all []uint64, stats Stats, err error) {
	stats, err = f.Read(func(r perfevent.Record) error {
		all = append(all, r.Common().Time)
		return nil
	})
	return all, stats, err
}

func TestRecordsComeInTheOrderOfTime(t *testing.T) {
	f, err := reader(small().bytes())
	if err != nil {
		t.Fatal(err)
	}
	got, stats, err := times(f)
	if want := []uint64{10, 20, 25, 30, 35, 40, 50}; err != nil || !slices.Equal(got, want) || stats.Samples[0] != 6 || stats.Late != 0 {
		t.Errorf("%v, %+v, %v", got, stats, err)
	}
	if f.Problem != nil || f.Info.Hostname != "host" || f.Events[0].Name != "cpu-clock" {
		t.Errorf("%+v, %v", f.Info, f.Problem)
	}
	if len(f.BuildIDs) != 1 || f.BuildIDs[0].PID != 7 || len(f.BuildIDs[0].ID) != 20 || f.BuildIDs[0].Filename != "/bin/x" {
		t.Errorf("%+v", f.BuildIDs)
	}
}

// A recorder that was killed leaves no size and no features.
func TestWhatAKilledRecorderLeftIsRead(t *testing.T) {
	m := small()
	m.features = nil
	b := m.bytes()
	binary.LittleEndian.PutUint64(b[48:], 0)
	f, err := reader(b)
	if err != nil {
		t.Fatal(err)
	}
	if got, stats, err := times(f); err != nil || len(got) != 7 || !stats.Cut {
		t.Errorf("%v, %+v, %v", got, stats, err)
	}
}

func TestWhatComesBeforeTheEndOfACutRecordingIsRead(t *testing.T) {
	b := small().bytes()
	start := int(binary.LittleEndian.Uint64(b[40:]))
	end := start + int(binary.LittleEndian.Uint64(b[48:]))
	whole, next := 0, start // records before n, and where the one at n begins
	for n := range end {
		f, err := reader(b[:n])
		if n < start {
			if err == nil {
				t.Errorf("%d bytes are opened", n)
			}
			continue
		}
		if size := int(binary.LittleEndian.Uint16(b[next+6:])); n == next+size {
			if binary.LittleEndian.Uint32(b[next:]) != recordFinishedRound {
				whole++
			}
			next = n
		}
		if err != nil {
			t.Errorf("%d bytes: %v", n, err)
			continue
		}
		got, stats, err := times(f)
		var malformed *FormatError
		if len(got) != whole || !stats.Cut || errors.As(err, &malformed) != (n != next) {
			t.Errorf("%d bytes have %d records: %v, %v", n, whole, got, err)
		}
		if malformed != nil && malformed.Offset != int64(next) {
			t.Errorf("%d bytes: the record at %d is cut: %v", n, next, err)
		}
	}
}

func TestAnErrorOfTheCallerEndsTheReading(t *testing.T) {
	f, err := reader(small().bytes())
	if err != nil {
		t.Fatal(err)
	}
	enough, n := errors.New("enough"), 0
	if _, err := f.Read(func(perfevent.Record) error {
		if n++; n == 3 {
			return enough
		}
		return nil
	}); err != enough || n != 3 {
		t.Errorf("%v after %d records", err, n)
	}
}

func TestWhatIsNoRecordingIsRefusedInWords(t *testing.T) {
	swapped := small().bytes()
	copy(swapped, swappedMagic)
	huge := small().bytes()
	binary.LittleEndian.PutUint64(huge[16:], 1<<40)
	outside := small().bytes()
	binary.LittleEndian.PutUint64(outside[24:], 1<<62)
	for _, tt := range []struct {
		name  string
		b     []byte
		words string
	}{
		{"nothing", nil, "it is empty"},
		{"text", []byte("cpu-clock 100\n"), "not a perf.data file"},
		{"a packed file", []byte("\x1f\x8b\x08\x00\x00\x00\x00\x00\x00"), "gzip"},
		{"the other byte order", swapped, "byte order"},
		{"half a header", small().bytes()[:50], "ends in its header"},
		{"attributes that make no sense", huge, "make no sense"},
		{"attributes outside", outside, "not in the file"},
		{"no event", (&image{}).bytes(), "make no sense"},
	} {
		if _, err := reader(tt.b); err == nil || !strings.Contains(err.Error(), tt.words) {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

// What a recording says of its sizes costs no more memory than four times its own.
func TestHostileRecordingsTakeNoMoreMemoryThanTheyAreLong(t *testing.T) {
	b := small().bytes()
	random := rand.New(rand.NewPCG(1, 2))
	var before, after runtime.MemStats
	for range 2000 {
		hostile := bytes.Clone(b)
		for range 1 + random.IntN(4) {
			at := random.IntN(len(hostile))
			switch random.IntN(3) {
			case 0:
				hostile[at] ^= 1 << random.IntN(8)
			case 1:
				hostile[at] = 0xff
			default:
				binary.LittleEndian.PutUint64(hostile[at&^7 : max(at&^7+8, len(hostile))][:8], random.Uint64())
			}
		}
		runtime.ReadMemStats(&before)
		if f, err := reader(hostile); err == nil {
			_, _, _ = times(f)
		}
		runtime.ReadMemStats(&after)
		// Beside four times the file: the buffers of a walker and of copies.
		if taken := after.TotalAlloc - before.TotalAlloc; taken > 4*uint64(len(b))+4*(walkBuffer+blockBytes) {
			t.Fatalf("%d bytes for a recording of %d: %x", taken, len(b), hostile)
		}
	}
}

func FuzzRead(f *testing.F) {
	fuzzing.Bound(f)
	f.Add(small().bytes())
	m := small()
	m.records = userRecord(recordCompressed, []byte{0x28, 0xb5, 0x2f, 0xfd, 0, 0, 0, 0})
	f.Add(m.bytes())
	m = small()
	m.features[featureTracingData] = tracingData()
	f.Add(m.bytes())
	f.Add(tracingPipe())
	f.Add(append(append([]byte(Magic), u64s(pipeHeader)...), userRecord(recordAttr, append(attr(), u64s(firstID)...))...))
	files, err := filepath.Glob("testdata/*.data")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		file, err := reader(b)
		if err != nil {
			return
		}
		last := uint64(0)
		stats, err := file.Read(func(r perfevent.Record) error {
			if time := r.Common().Time; time != 0 && time != ^uint64(0) {
				last = max(last, time)
			}
			return nil
		})
		if stats.Last > last {
			t.Errorf("the last sample is at %d, all records before %d: %v", stats.Last, last, err)
		}
	})
}
