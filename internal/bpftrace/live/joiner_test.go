package live

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/testkit/fuzzing"
)

// joined is a sample of a tracepoint or a record of its event probe, in a test.
type joined struct {
	time   uint64
	cpu    int
	thread uint32
	flags  byte
	number byte   // of the hit
	lost   uint64 // records before it
}

// raw is the start of a record, with the number of its hit behind it.
func (r joined) raw() []byte {
	raw := []byte{1, 0, r.flags, 0}
	return append(binary.LittleEndian.AppendUint32(raw, r.thread), r.number)
}

func (r joined) entry() *ftrace.Entry {
	return &ftrace.Entry{CPU: r.cpu, Time: r.time, Lost: r.lost, Raw: r.raw()}
}

func (r joined) place() place {
	return place{contextOf(1, uint32(r.cpu), r.raw()), r.cpu, r.time}
}

// of returns the number of the hit that a sample's record is of.
func (j *joiner) of(sample joined, same func([]byte) bool) string {
	raw, answer := j.find(sample.place(), same)
	if answer == found {
		return fmt.Sprint(raw[8])
	}
	return [...]string{lost: "lost", notYet: "not yet"}[answer]
}

func anyRecord([]byte) bool { return true }

func TestARecordIsJoinedToTheSampleBeforeItInItsContext(t *testing.T) {
	const hard, soft, off = flagHardIRQ, flagSoftIRQ, 0x01 | 0x04 // interrupts off, need to reschedule
	for _, test := range []struct {
		name    string
		samples []joined
		records []joined
		want    []string
	}{
		{"one after the other", []joined{{time: 10, thread: 5}, {time: 20, thread: 5}}, []joined{{time: 11, thread: 5, number: 1}, {time: 21, thread: 5, number: 2}}, []string{"1", "2"}},
		{"at the same time", []joined{{time: 10, thread: 5}}, []joined{{time: 10, thread: 5, number: 1}}, []string{"1"}},
		{"interrupts between a sample and its record", []joined{{time: 10, thread: 5}, {time: 11, thread: 5, flags: soft}, {time: 12, thread: 5, flags: soft | hard}},
			[]joined{{time: 13, thread: 5, flags: soft | hard, number: 3}, {time: 14, thread: 5, flags: soft, number: 2}, {time: 15, thread: 5, number: 1}}, []string{"1", "2", "3"}},
		{"flags that change between them", []joined{{time: 10, thread: 5}}, []joined{{time: 11, thread: 5, flags: off, number: 1}}, []string{"1"}},
		{"another thread on another CPU between them", []joined{{time: 10, thread: 5}, {time: 11, cpu: 1, thread: 6}}, []joined{{time: 12, cpu: 1, thread: 6, number: 2}, {time: 13, thread: 5, number: 1}}, []string{"1", "2"}},
		{"the idle threads of two CPUs", []joined{{time: 10, cpu: 0}, {time: 11, cpu: 1}}, []joined{{time: 12, cpu: 1, number: 2}, {time: 13, cpu: 0, number: 1}}, []string{"1", "2"}},
		{"records of hits without samples", []joined{{time: 30, thread: 5}}, []joined{{time: 11, thread: 5, number: 1}, {time: 21, thread: 5, number: 2}, {time: 31, thread: 5, number: 3}}, []string{"3"}},
		{"no record of an interrupt", []joined{{time: 10, thread: 5}, {time: 11, thread: 5, flags: soft}}, []joined{{time: 12, thread: 5, number: 1}, {time: 20, thread: 5, flags: soft, number: 3}}, []string{"1", "lost"}},
		{"no record of a thread", []joined{{time: 10, thread: 5}}, []joined{{time: 12, thread: 6, number: 2}, {time: 14, thread: 5, number: 3}}, []string{"lost"}},
		{"a record long after the sample", []joined{{time: 10, thread: 5}}, []joined{{time: 11 + uint64(maxBehind), thread: 5, number: 2}}, []string{"lost"}},
		{"no record yet", []joined{{time: 10, thread: 5}}, nil, []string{"not yet"}},
		{"a lost record", []joined{{time: 10, thread: 5}, {time: 20, thread: 5}, {time: 40, thread: 5}},
			[]joined{{time: 11, thread: 5, number: 1}, {time: 31, thread: 6, lost: 1}, {time: 41, thread: 5, number: 4}}, []string{"1", "lost", "4"}},
		{"at the end of a gap nobody knows whose it is", []joined{{time: 10, thread: 5}, {time: 20, thread: 5}}, []joined{{time: 21, thread: 5, number: 2, lost: 1}}, []string{"lost", "lost"}},
		{"lost records of another CPU", []joined{{time: 10, cpu: 1, thread: 5}}, []joined{{time: 5, cpu: 0, thread: 7}, {time: 11, cpu: 1, thread: 5, number: 1}, {time: 15, cpu: 0, thread: 7, lost: ftrace.LostSome}}, []string{"1"}},
		{"lost on the CPU that the thread was on", []joined{{time: 10, cpu: 0, thread: 5}}, []joined{{time: 5, cpu: 0, thread: 7}, {time: 11, cpu: 1, thread: 5, number: 2}, {time: 12, cpu: 0, thread: 7, lost: 1}}, []string{"lost"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var j joiner
			for _, r := range test.records {
				j.add(r.entry())
			}
			j.read(100, 0)
			for i, s := range test.samples {
				if got := j.of(s, anyRecord); got != test.want[i] {
					t.Errorf("sample at %d: %s, want %s", s.time, got, test.want[i])
				}
			}
		})
	}
}

func TestARecordWithOtherFieldsIsNotTheSamples(t *testing.T) {
	var j joiner
	j.add(joined{time: 11, thread: 5, number: 2}.entry())
	if got := j.of(joined{time: 10, thread: 5}, func(raw []byte) bool { return raw[8] == 1 }); got != "lost" {
		t.Errorf("of another number: %s", got)
	}
	if got := j.of(joined{time: 11, thread: 5}, func(raw []byte) bool { return raw[8] == 2 }); got != "2" {
		t.Errorf("of its number: %s", got)
	}
}

func TestARecordThatDoesNotComeIsLost(t *testing.T) {
	var j joiner
	j.read(uint64(maxBehind), 0)
	if got := j.of(joined{time: 10, thread: 5}, anyRecord); got != "not yet" {
		t.Errorf("soon after the sample: %s", got)
	}
	j.read(uint64(maxBehind)+11, 0)
	if got := j.of(joined{time: 10, thread: 5}, anyRecord); got != "lost" {
		t.Errorf("long after the sample: %s", got)
	}
}

func TestRecordsThatNobodyAsksForAreForgotten(t *testing.T) {
	var j joiner
	r := joined{thread: 5}
	n := 3 * maxWaiting / (recordBytes + len(r.raw()))
	for i := range n {
		r.time = uint64(i)
		j.add(r.entry())
	}
	if j.bytes > maxWaiting+2*recordBytes || len(j.queues[r.place().hitContext]) > n/2 {
		t.Errorf("%d bytes of %d records wait", j.bytes, len(j.queues))
	}
	if got := j.of(joined{time: 5, thread: 5}, anyRecord); got != "lost" {
		t.Errorf("the record of an early sample: %s", got)
	}
	if got := j.of(r, anyRecord); got != "0" {
		t.Errorf("the last record: %s", got)
	}
	j.read(r.time, r.time)
	if j.bytes != 0 || len(j.queues) != 0 {
		t.Errorf("%d bytes are left", j.bytes)
	}
}

// FuzzJoiner has threads on two CPUs hit a tracepoint, with interrupts between a sample and its record,
// and records that get lost. No sample may get the record of another.
func FuzzJoiner(f *testing.F) {
	fuzzing.Bound(f)
	f.Add(uint64(1), uint8(0))
	f.Add(uint64(2), uint8(40))
	f.Fuzz(func(t *testing.T, seed uint64, losing uint8) {
		left := make(map[byte]bool) // hits without a record, which nothing says
		r := rand.New(rand.NewPCG(seed, 0))
		var samples []joined
		var records [2][]joined
		number := byte(0)
		var hit func(clock *uint64, cpu int, thread uint32, flags byte, leftOut bool)
		hit = func(clock *uint64, cpu int, thread uint32, flags byte, leftOut bool) {
			*clock += uint64(r.IntN(3))
			number++
			own := joined{time: *clock, cpu: cpu, thread: thread, flags: flags, number: number}
			if r.IntN(4) > 0 { // else the kernel filters it
				samples = append(samples, own)
			}
			*clock++
			leavesOut := leftOut || r.IntN(8) == 0 // what interrupts it
			for _, level := range []byte{flagSoftIRQ, flagHardIRQ, flagNMI} {
				if level > flags&(flagSoftIRQ|flagNMI) && flags&(flagHardIRQ|flagNMI) == 0 && r.IntN(4) == 0 {
					hit(clock, cpu, thread, flags|level, leavesOut)
				}
			}
			if own.time = *clock; leftOut {
				left[own.number] = true
			} else {
				records[cpu] = append(records[cpu], own)
			}
			*clock++
		}
		for cpu := range 2 {
			clock := uint64(1)
			for range 40 {
				hit(&clock, cpu, uint32(r.IntN(2)*(10+cpu)), 0, false)
			}
		}
		var j joiner
		for cpu := range 2 {
			missing := uint64(0)
			for _, e := range records[cpu] {
				if r.IntN(256) < int(losing) {
					missing++
					continue
				}
				e.lost, missing = missing, 0
				j.add(e.entry())
			}
		}
		j.read(uint64(maxBehind)+1000, 0)
		// By time, as samples come.
		for at := uint64(0); at < 1000; at++ {
			for _, s := range samples {
				if s.time != at {
					continue
				}
				raw, answer := j.find(s.place(), anyRecord)
				switch {
				case answer == notYet:
					t.Fatalf("hit %d waits for ever", s.number)
				case answer == found && raw[8] != s.number:
					t.Fatalf("hit %d has the record of hit %d", s.number, raw[8])
				case answer == lost && losing == 0 && !left[s.number]:
					t.Fatalf("hit %d has no record", s.number)
				}
			}
		}
	})
}
