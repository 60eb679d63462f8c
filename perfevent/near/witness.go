package near

import (
	"math"
	"math/bits"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/perfevent"
)

// follow is what follows a sample in its CPU's ring.
type follow uint8

const (
	nothingFollows follow = iota // no switch away from the thread, or something else before it
	otherFollows                 // a switch with other registers
	sameFollows                  // a switch with the registers of the sample
)

// place says where an event's samples are taken.
type place uint8

const (
	anywhere    place = iota
	inKernel          // though the registers may be those of user mode, as at a system call's entry
	atUserProbe       // at an instruction that the kernel carries out itself or steps over
)

// placeOf is where an event's samples are taken.
func placeOf(isTracepoint, isUserProbe bool) place {
	switch {
	case isUserProbe:
		return atUserProbe
	case isTracepoint:
		return inKernel
	}
	return anywhere
}

// followedBy compares a sample with the switch away from its thread that comes next. With
// the same user registers no user code ran between the two. A sample that was taken in the
// kernel may be of a system call, whose result the kernel has written by then. The switch has
// the registers of the sample at least.
func followedBy(sample, out *perfevent.Sample, at place) follow {
	a, b := &sample.Regs, &out.Regs
	if a.ABI == 0 || a.ABI != b.ABI || a.Mask&^b.Mask != 0 ||
		len(a.Values) != bits.OnesCount64(a.Mask) || len(b.Values) != bits.OnesCount64(b.Mask) {
		return otherFollows
	}
	probe := at == atUserProbe
	mayReturn := !probe && (at == inKernel || sample.Misc&unix.PERF_RECORD_MISC_CPUMODE_MASK != unix.PERF_RECORD_MISC_USER)
	var past passage
	if probe {
		past = passageOf(a, b)
	}
	bit := 0
	for i := range a.Values {
		for a.Mask>>bit&1 == 0 {
			bit++
		}
		register := bit
		bit++
		after := b.Values[bits.OnesCount64(b.Mask&(1<<register-1))]
		switch {
		case a.Values[i] == after:
		case register == resultRegister && mayReturn:
		case probe && past.changes(register, a.Values[i], after):
		default:
			return otherFollows
		}
	}
	return sameFollows
}

// view is a visit that waits for its verdict.
type view struct {
	Reading
	began, ended uint64
	out          uint64
	follow       follow
}

// judge decides which visits were exact, as soon as the switches of all CPUs up to their
// ends are known.
type judge struct {
	cpus    []switches
	waiting []*view
}

// switches is what is known of one CPU.
type switches struct {
	progress uint64 // all before that time is known
	ins      []in   // in order of time
	gaps     []gap
}

// in is a switch to a thread.
type in struct {
	time uint64
	tid  uint32
}

// gap is a span of time in which switches may be missing.
type gap struct{ from, to uint64 }

// memory is how long switches are kept. A visit is far shorter.
const memory = uint64(5 * time.Second)

// ripe returns the visits whose verdict is known, in order of their samples' times.
func (j *judge) ripe() []*view {
	known := uint64(math.MaxUint64)
	for i := range j.cpus {
		known = min(known, j.cpus[i].progress)
	}
	var done []*view
	j.waiting = slices.DeleteFunc(j.waiting, func(v *view) bool {
		if v.ended > known {
			return false
		}
		j.decide(v, known)
		done = append(done, v)
		return true
	})
	for i := range j.cpus {
		j.cpus[i].forget(known - min(known, memory))
	}
	slices.SortStableFunc(done, func(a, b *view) int { return compare(a.Time, b.Time) })
	return done
}

// passed is the time before which no visit is waited for, if all switches before known are.
func (j *judge) passed(known uint64) uint64 {
	for _, v := range j.waiting {
		known = min(known, v.Time)
	}
	return known
}

func compare(a, b uint64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

func (j *judge) decide(v *view, known uint64) {
	v.Verdict.Late = time.Duration(v.ended - min(v.Time, v.ended))
	if v.Verdict.Reason != NoReason {
		return // None, since it was not read
	}
	v.Verdict.Kind = Near
	switch {
	case v.follow == nothingFollows || v.out > v.began:
		v.Verdict.Reason = RanOn
	case v.follow == otherFollows:
		v.Verdict.Reason = Changed
	case v.out+memory < known || j.missing(v.out, v.ended):
		v.Verdict.Reason = Unwitnessed
	case j.ran(v.TID, v.out, v.ended):
		v.Verdict.Reason = Resumed
	default:
		v.Verdict.Kind = Exact
	}
}

// ran tells whether a thread began to run in the span of time on any CPU.
func (j *judge) ran(tid uint32, from, to uint64) bool {
	for i := range j.cpus {
		ins := j.cpus[i].ins
		first, _ := slices.BinarySearchFunc(ins, from, func(s in, t uint64) int { return compare(s.time, t) })
		for _, s := range ins[first:] {
			if s.time > to {
				break
			}
			if s.tid == tid {
				return true
			}
		}
	}
	return false
}

func (j *judge) missing(from, to uint64) bool {
	for i := range j.cpus {
		if slices.ContainsFunc(j.cpus[i].gaps, func(g gap) bool { return g.from <= to && from <= g.to }) {
			return true
		}
	}
	return false
}

// add notes a switch. The kernel takes a record's time before its place in the ring, so
// that two may come in the wrong order.
func (s *switches) add(i in) {
	at := len(s.ins)
	for at > 0 && s.ins[at-1].time > i.time {
		at--
	}
	s.ins = slices.Insert(s.ins, at, i)
}

// forget leaves out what happened before a time.
func (s *switches) forget(before uint64) {
	n, _ := slices.BinarySearchFunc(s.ins, before, func(s in, t uint64) int { return compare(s.time, t) })
	s.ins = slices.Delete(s.ins, 0, n)
	s.gaps = slices.DeleteFunc(s.gaps, func(g gap) bool { return g.to < before })
}
