package near

import (
	"math/bits"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/perfevent"
)

// sampleOf is a sample in user mode whose registers are their numbers, but for those in set.
func sampleOf(set map[int]uint64) *perfevent.Sample {
	s := &perfevent.Sample{Header: perfevent.Header{Misc: unix.PERF_RECORD_MISC_USER, TID: 1}}
	s.Regs = perfevent.Registers{ABI: 2, Mask: allRegisters}
	for m := uint64(allRegisters); m != 0; m &= m - 1 {
		n := bits.TrailingZeros64(m)
		value, ok := set[n]
		if !ok {
			value = uint64(n) * 1000
		}
		s.Regs.Values = append(s.Regs.Values, value)
	}
	return s
}

func TestASwitchFollowsASampleIfNoCodeRanBetween(t *testing.T) {
	const other = 2 // neither the result's register nor the instruction pointer
	tests := []struct {
		name   string
		place  place
		kernel bool
		from   map[int]uint64
		to     map[int]uint64
		want   follow
	}{
		{"the same registers", anywhere, false, nil, nil, sameFollows},
		{"another register", anywhere, false, nil, map[int]uint64{other: 7}, otherFollows},
		{"another result in user mode", anywhere, false, nil, map[int]uint64{resultRegister: 7}, otherFollows},
		{"the result of a system call that was sampled", anywhere, true, nil, map[int]uint64{resultRegister: 7}, sameFollows},
		{"the result of a system call at its entry", inKernel, false, nil, map[int]uint64{resultRegister: 7}, sameFollows},
		{"another register after a system call", inKernel, true, nil, map[int]uint64{other: 7}, otherFollows},
		{"the next instruction", anywhere, false, nil, map[int]uint64{ipRegister: ipRegister*1000 + 4}, otherFollows},
		{"past a probed instruction", atUserProbe, false, nil, map[int]uint64{ipRegister: ipRegister*1000 + 4}, sameFollows},
		{"far from a probed instruction", atUserProbe, false, nil, map[int]uint64{ipRegister: ipRegister*1000 + 400}, otherFollows},
		{"another result at a probe", atUserProbe, true, nil, map[int]uint64{resultRegister: 7}, otherFollows},
	}
	for _, tt := range tests {
		from, to := sampleOf(tt.from), sampleOf(tt.to)
		if tt.kernel {
			from.Misc = unix.PERF_RECORD_MISC_KERNEL
		}
		if got := followedBy(from, to, tt.place); got != tt.want {
			t.Errorf("%s: %d, want %d", tt.name, got, tt.want)
		}
	}
	fewer := sampleOf(nil)
	fewer.Regs.Mask, fewer.Regs.Values = 1<<ipRegister|1<<other, []uint64{other * 1000, ipRegister * 1000}
	for _, tt := range []struct {
		name string
		to   *perfevent.Sample
		want follow
	}{
		{"with more registers", sampleOf(map[int]uint64{resultRegister: 7}), sameFollows},
		{"with another of them and more", sampleOf(map[int]uint64{other: 7}), otherFollows},
	} {
		if got := followedBy(fewer, tt.to, anywhere); got != tt.want {
			t.Errorf("a switch %s than the sample: %d, want %d", tt.name, got, tt.want)
		}
	}
	if got := followedBy(sampleOf(nil), fewer, anywhere); got != otherFollows {
		t.Errorf("a switch with fewer registers than the sample: %d", got)
	}
	kernelThread := sampleOf(nil)
	kernelThread.Regs = perfevent.Registers{}
	if got := followedBy(kernelThread, kernelThread, anywhere); got != otherFollows {
		t.Errorf("without registers: %d", got)
	}
	code32 := sampleOf(nil)
	code32.Regs.ABI = 1
	if got := followedBy(sampleOf(nil), code32, anywhere); got != otherFollows {
		t.Errorf("registers of other code: %d", got)
	}
}

func TestTheVerdictKnowsTheSwitchesOfAllCPUs(t *testing.T) {
	const tid, other = 7, 8
	// The thread is sampled at 1000, stops at 1010, and is read from 1020 to 1050.
	tests := []struct {
		name string
		view view
		cpus []switches
		want Verdict
	}{
		{"it stood still", view{}, nil, Verdict{Kind: Exact}},
		{"it went on later", view{}, []switches{{ins: []in{{1051, tid}}}, {}}, Verdict{Kind: Exact}},
		{"it came before", view{}, []switches{{ins: []in{{900, tid}, {990, tid}}}, {}}, Verdict{Kind: Exact}},
		{"another ran", view{}, []switches{{ins: []in{{1015, other}}}, {ins: []in{{1030, other}}}}, Verdict{Kind: Exact}},
		{"it ran on its CPU", view{}, []switches{{ins: []in{{1040, tid}}}, {}}, Verdict{Near, Resumed, 0}},
		{"it ran on another CPU", view{}, []switches{{}, {ins: []in{{1040, tid}}}}, Verdict{Near, Resumed, 0}},
		{"it ran when the read ended", view{}, []switches{{}, {ins: []in{{1050, tid}}}}, Verdict{Near, Resumed, 0}},
		{"it ran before the read", view{}, []switches{{}, {ins: []in{{1012, tid}}}}, Verdict{Near, Resumed, 0}},
		{"no switch", view{follow: nothingFollows}, nil, Verdict{Near, RanOn, 0}},
		{"other registers", view{follow: otherFollows}, nil, Verdict{Near, Changed, 0}},
		{"the switch came in the read", view{out: 1030}, nil, Verdict{Near, RanOn, 0}},
		{"lost switches", view{}, []switches{{}, {gaps: []gap{{1045, 1100}}}}, Verdict{Near, Unwitnessed, 0}},
		{"lost switches of another time", view{}, []switches{{}, {gaps: []gap{{1, 1009}, {1051, 1100}}}}, Verdict{Kind: Exact}},
		{"not read", view{Reading: Reading{Verdict: Verdict{Reason: TimeUp}}}, nil, Verdict{None, TimeUp, 0}},
	}
	for _, tt := range tests {
		v := tt.view
		v.Time, v.TID, v.began, v.ended = 1000, tid, 1020, 1050
		if v.out == 0 {
			v.out = 1010
			if tt.want.Reason != RanOn && tt.want.Reason != Changed {
				v.follow = sameFollows
			}
		} else {
			v.follow = sameFollows
		}
		if tt.cpus == nil {
			tt.cpus = make([]switches, 2)
		}
		j := judge{cpus: tt.cpus, waiting: []*view{&v}}
		for i := range j.cpus {
			j.cpus[i].progress = 1049
		}
		if done := j.ripe(); len(done) != 0 {
			t.Fatalf("%s: a verdict before all is known", tt.name)
		}
		j.cpus[0].progress = 2000
		if done := j.ripe(); len(done) != 0 {
			t.Fatalf("%s: a verdict before all of the other CPU is known", tt.name)
		}
		j.cpus[1].progress = 1050
		done := j.ripe()
		if len(done) != 1 || len(j.waiting) != 0 {
			t.Fatalf("%s: no verdict", tt.name)
		}
		tt.want.Late = 50
		if done[0].Verdict != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, done[0].Verdict, tt.want)
		}
	}
}

func TestSwitchesAreForgottenInTime(t *testing.T) {
	var s switches
	for _, at := range []uint64{5, 3, 9, 7} {
		s.add(in{at, 1})
	}
	s.gaps = []gap{{1, 2}, {1, 8}}
	s.forget(6)
	if len(s.ins) != 2 || s.ins[0].time != 7 || s.ins[1].time != 9 || len(s.gaps) != 1 {
		t.Errorf("%+v is left", s)
	}
}

// records are what a thread finds in its ring, by a visitor that notes whom it visits.
func TestOnlyTheSwitchNextToASampleCounts(t *testing.T) {
	const witness = 1
	sample := func(sampling int, tid uint32) *perfevent.Sample {
		s := sampleOf(nil)
		s.Sampling, s.TID, s.PID, s.Time = sampling, tid, tid, 5
		return s
	}
	in := func(tid uint32) *perfevent.Switch {
		return &perfevent.Switch{Header: perfevent.Header{TID: tid, Time: 6}}
	}
	out := func(tid uint32) *perfevent.Switch {
		return &perfevent.Switch{Header: perfevent.Header{TID: tid, Time: 6}, Out: true}
	}
	const self = 1 << 30 // no thread has that id
	tests := []struct {
		name    string
		records []perfevent.Record
		want    []follow
	}{
		{"a switch", []perfevent.Record{sample(0, self), sample(witness, self), out(self)}, []follow{sameFollows}},
		{"a name between", []perfevent.Record{sample(0, self), &perfevent.Comm{}, sample(witness, self)}, []follow{sameFollows}},
		{"nothing", []perfevent.Record{sample(0, self)}, []follow{nothingFollows}},
		{"another thread's", []perfevent.Record{sample(0, self), sample(witness, self+1)}, []follow{nothingFollows}},
		{"two samples", []perfevent.Record{sample(0, self), sample(0, self), sample(witness, self)}, []follow{nothingFollows, sameFollows}},
		{"it came back", []perfevent.Record{sample(0, self), in(self), sample(witness, self)}, []follow{nothingFollows}},
		{"lost records", []perfevent.Record{sample(0, self), &perfevent.Lost{Lost: 3}, sample(witness, self)}, []follow{nothingFollows}},
		{"skipped", []perfevent.Record{sample(0, 99), sample(witness, 99)}, nil},
	}
	for _, tt := range tests {
		mem := make([]uint64, (controlSize+1<<16)/8)
		th := thread{order: &order{Witness: witness, Skip: []uint32{99}, Places: make([]place, 2), VisitBytes: 64, VisitTime: time.Second},
			out: newHandover(bytesOf(mem)), clock: newClock(), visitor: stateVisitor{}, rung: Unpinned}
		th.visit.clock = th.clock
		for _, r := range tt.records {
			th.handle(r)
		}
		th.close(nothingFollows, 0)
		var got []follow
		for e, _ := th.out.take(); e != nil; e, _ = th.out.take() {
			if e.Kind == viewEntry {
				got = append(got, e.Follow)
			}
			th.out.free(e)
		}
		if len(got) != len(tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
			continue
		}
		for i := range got {
			if got[i] != tt.want[i] {
				t.Errorf("%s: visit %d: %v, want %v", tt.name, i, got[i], tt.want[i])
			}
		}
	}
}

func TestAProbedPushOrStepIsNoChange(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("the registers of arm64 do not show a step")
	}
	const (
		ax, bx, cx, si, di, sp, ip, flags, r11 = 0, 1, 2, 4, 5, 7, 8, 9, 19

		plain, trap = 9000 &^ (1 << 8), 9000 | 1<<8
		slot, page  = 0x7fff0080, 0x7fff000d
	)
	for _, tt := range []struct {
		name string
		to   map[int]uint64
		want follow
	}{
		{"push", map[int]uint64{sp: 7000 - 8, ip: 8001}, sameFollows},
		{"pop", map[int]uint64{sp: 7000 + 8, ip: 8001}, otherFollows},
		{"a step elsewhere", map[int]uint64{ip: 0x7fff0000, flags: trap}, sameFollows},
		{"a step that is over", map[int]uint64{ip: 0x7fff0003, flags: trap}, otherFollows},
		{"a step of a push", map[int]uint64{ip: slot, flags: trap, sp: 7000 - 8}, otherFollows},
		{"elsewhere", map[int]uint64{ip: 0x7fff0000}, otherFollows},
		{"a step with an address in si", map[int]uint64{ip: slot, flags: trap, si: 8006}, sameFollows},
		{"a step with an address in di", map[int]uint64{ip: slot, flags: trap, di: 8007}, sameFollows},
		{"a step with an address in bx", map[int]uint64{ip: slot, flags: trap, bx: 8015}, sameFollows},
		{"a step with an address in cx", map[int]uint64{ip: slot, flags: trap, cx: 8007}, otherFollows},
		{"a step with an address in two registers", map[int]uint64{ip: slot, flags: trap, si: 8007, bx: 8007}, otherFollows},
		{"a step with an address and another register", map[int]uint64{ip: slot, flags: trap, si: 8007, cx: 7}, otherFollows},
		{"a step with the address of another instruction", map[int]uint64{ip: slot, flags: trap, si: 8016}, otherFollows},
		{"a step with an address that is too near", map[int]uint64{ip: slot, flags: trap, si: 8005}, otherFollows},
		{"a step with an address that is over", map[int]uint64{ip: slot + 7, flags: trap, si: 8007}, otherFollows},
		{"an address and no step", map[int]uint64{ip: 8007, si: 8007}, otherFollows},
		{"a return", map[int]uint64{sp: 7000 - 24, ip: page, cx: page, r11: plain}, sameFollows},
		{"a return with another result", map[int]uint64{sp: 7000 - 24, ip: page, cx: page, r11: plain, ax: 7}, otherFollows},
		{"a return with other flags", map[int]uint64{sp: 7000 - 24, ip: page, cx: page, r11: trap, flags: trap}, otherFollows},
		{"a return that has gone on", map[int]uint64{sp: 7000 - 16, ip: page, cx: page, r11: plain}, otherFollows},
		{"another system call", map[int]uint64{sp: 7000 - 24, ip: 0x7fff00dd, cx: 0x7fff00dd, r11: plain}, otherFollows},
		{"a return by another page", map[int]uint64{sp: 7000 - 24, ip: page, cx: page + 1, r11: plain}, otherFollows},
		{"a nop that became a call", map[int]uint64{sp: 7000 - 32, ip: page, cx: page, r11: plain, ax: 0}, sameFollows},
		{"a nop that became a call, and a result", map[int]uint64{sp: 7000 - 32, ip: page, cx: page, r11: plain, ax: 7}, otherFollows},
		{"a nop that became a call and has gone on", map[int]uint64{sp: 7000 - 24, ip: page, cx: page, r11: plain, ax: 0}, otherFollows},
	} {
		from := sampleOf(map[int]uint64{flags: plain, ax: 5})
		for register, value := range map[int]uint64{flags: plain, ax: 5} {
			if _, ok := tt.to[register]; !ok {
				tt.to[register] = value
			}
		}
		if got := followedBy(from, sampleOf(tt.to), atUserProbe); got != tt.want {
			t.Errorf("%s: %d, want %d", tt.name, got, tt.want)
		}
	}
}
