package perfevent

import (
	"bytes"
	"math/bits"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/fuzzing"
)

// fuzzSampleTypes are the layouts that the fuzzers choose from.
var fuzzSampleTypes = []uint64{
	0,
	unix.PERF_SAMPLE_CALLCHAIN,
	unix.PERF_SAMPLE_ADDR | unix.PERF_SAMPLE_PERIOD | unix.PERF_SAMPLE_RAW,
	unix.PERF_SAMPLE_REGS_USER | unix.PERF_SAMPLE_STACK_USER,
	unix.PERF_SAMPLE_ADDR | unix.PERF_SAMPLE_PERIOD | unix.PERF_SAMPLE_CALLCHAIN | unix.PERF_SAMPLE_RAW |
		unix.PERF_SAMPLE_REGS_USER | unix.PERF_SAMPLE_STACK_USER | unix.PERF_SAMPLE_CGROUP,
	unix.PERF_SAMPLE_CALLCHAIN | unix.PERF_SAMPLE_RAW | unix.PERF_SAMPLE_REGS_USER | unix.PERF_SAMPLE_STACK_USER |
		unix.PERF_SAMPLE_REGS_INTR | unix.PERF_SAMPLE_CGROUP,
}

func FuzzDecode(f *testing.F) {
	fuzzing.Bound(f)
	f.Add(uint8(1), callchainSample(1, 3))
	f.Add(uint8(0), comm(1, "name"))
	f.Add(uint8(0), trailed(unix.PERF_RECORD_MMAP2, 0, 1, make(body, 64).text("/bin/sh")))
	f.Add(uint8(0), trailed(unix.PERF_RECORD_MMAP2, unix.PERF_RECORD_MISC_MMAP_BUILD_ID, 1, make(body, 64).text("")))
	f.Add(uint8(0), trailed(unix.PERF_RECORD_NAMESPACES, 0, 1, body(nil).u64(0).u64(1).u64(0).u64(0)))
	f.Add(uint8(0), trailed(unix.PERF_RECORD_TEXT_POKE, 0, 1, body(nil).u64(0).u16(2).u16(2).u32(0)))
	f.Add(uint8(4), record(unix.PERF_RECORD_SAMPLE, 0, body(nil).u64(testSampleID).u64(1).u64(2).u64(3).u64(4).u64(5).u64(6).
		u64(1).u64(9).u32(4).u32(0).u64(2).u64(0).u64(0).u64(8).u64(0).u64(8).u64(1)))
	f.Add(uint8(0x40|5), functionSample(0xffffffff81000000, contextKernel, 0xffffffff81f00000, 0xffffffff81000005))
	f.Fuzz(func(t *testing.T, kind uint8, b []byte) {
		d := testDecoder(fuzzSampleTypes[int(kind)%len(fuzzSampleTypes)])
		d.shared = int32(kind>>7) - 1
		d.layouts[0].isFunction = kind&0x40 != 0
		rec, err := d.Decode(b)
		if (rec == nil) == (err == nil) {
			t.Fatalf("decode gives %v, %v", rec, err)
		}
		if err != nil {
			return
		}
		// What a record claims to hold must lie within the record.
		held := 0
		switch rec := rec.(type) {
		case *Sample:
			held = 8*len(rec.Callchain) + len(rec.Raw) + 8*len(rec.Regs.Values) + 8*len(rec.IntrRegs.Values) + len(rec.Stack)
			if n := len(rec.Regs.Values); n != 0 && n != bits.OnesCount64(d.layouts[0].userRegs) {
				t.Errorf("%d register values", n)
			}
			if n := len(rec.IntrRegs.Values); n != 0 && n != bits.OnesCount64(d.layouts[0].intrRegs) {
				t.Errorf("%d interrupt register values", n)
			}
		case *Mmap:
			held = len(rec.Filename) + len(rec.BuildID)
		case *Comm:
			held = len(rec.Name)
		case *Cgroup:
			held = len(rec.Path)
		case *Ksymbol:
			held = len(rec.Name)
		case *TextPoke:
			held = len(rec.Old) + len(rec.New)
		case *Namespaces:
			held = 16 * len(rec.Links)
		}
		if held > len(b)-minOtherSize {
			t.Errorf("a record of %d bytes holds %d", len(b), held)
		}
	})
}

func FuzzRing(f *testing.F) {
	three := append(append(smallSample(1), comm(3, "name")...), smallSample(2)...)
	f.Add(uint16(0), three)
	f.Add(uint16(4000), three)
	f.Add(uint16(8), append(record(1, 0, nil), three...))
	f.Fuzz(func(t *testing.T, start uint16, content []byte) {
		const size = 4096
		content = content[:min(len(content), size)&^7]
		fake := newFakeRing(size, uint64(start)&^7)
		if !fake.write(content) {
			t.Fatal("the content does not fit")
		}
		fake.snapshot()
		d := testDecoder(unix.PERF_SAMPLE_CALLCHAIN)
		taken := uint64(0)
		for e := fake.peek(); e != nil; e = fake.peek() {
			b := fake.bytes(e)
			if uint32(len(b)) != e.size {
				t.Fatalf("a record of %d bytes reads as %d", e.size, len(b))
			}
			taken += uint64(len(b))
			if rec, err := d.Decode(b); err == nil && rec.Common().Time != e.time {
				t.Errorf("the ring says time %d, the decoder %d", e.time, rec.Common().Time)
			}
			fake.take()
			fake.release()
			if fake.tailWord > fake.headWord || fake.headWord-fake.tailWord > uint64(len(content)) {
				t.Fatalf("tail %d, head %d", fake.tailWord, fake.headWord)
			}
		}
		fake.release()
		if fake.tailWord != fake.headWord {
			t.Errorf("%d bytes were not given back", fake.headWord-fake.tailWord)
		}
		if taken > uint64(len(content)) {
			t.Errorf("%d bytes of records in %d bytes", taken, len(content))
		}
	})
}

// FuzzCPURing takes whatever a ring holds in the order in which it lies there.
func FuzzCPURing(f *testing.F) {
	three := append(append(smallSample(1), comm(3, "name")...), smallSample(2)...)
	f.Add(uint16(0), three)
	f.Add(uint16(4000), three)
	f.Add(uint16(8), append(record(1, 0, nil), three...))
	f.Fuzz(func(t *testing.T, start uint16, content []byte) {
		const size = 4096
		content = content[:min(len(content), size)&^7]
		fake := newFakeRing(size, uint64(start)&^7)
		if !fake.write(content) {
			t.Fatal("the content does not fit")
		}
		r := CPURing{ring: mappedRing{ring: fake.ring}}
		r.Look()
		taken := 0
		for b := r.Next(); b != nil; b = r.Next() {
			if !bytes.Equal(b, content[taken:taken+len(b)]) {
				t.Fatalf("%d bytes from %d on are others", len(b), taken)
			}
			taken += len(b)
		}
		if taken < len(content) && r.Malformed() == 0 {
			t.Errorf("%d of %d bytes were taken", taken, len(content))
		}
		r.Release()
		if fake.tailWord != fake.headWord {
			t.Errorf("%d bytes were not given back", fake.headWord-fake.tailWord)
		}
	})
}
