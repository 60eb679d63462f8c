package helper

import "testing"

func TestClassifyingNeedsTheSwitchesOfAllCPUs(t *testing.T) {
	const tid, other = 7, 8
	// The thread is sampled at 1000, switched away from at 1010, and read from 1020 to 1050.
	tests := []struct {
		name  string
		visit pendingReading
		cpus  []cpuSwitches
		want  Reading
	}{
		{"it did not run", pendingReading{}, nil, Reading{Certainty: Exact}},
		{"it ran after the read", pendingReading{}, []cpuSwitches{{switchIns: []switchIn{{1051, tid}}}, {}}, Reading{Certainty: Exact}},
		{"it was switched to before the sample", pendingReading{}, []cpuSwitches{{switchIns: []switchIn{{900, tid}, {990, tid}}}, {}}, Reading{Certainty: Exact}},
		{"other threads ran", pendingReading{}, []cpuSwitches{{switchIns: []switchIn{{1015, other}}}, {switchIns: []switchIn{{1030, other}}}}, Reading{Certainty: Exact}},
		{"it ran on its CPU", pendingReading{}, []cpuSwitches{{switchIns: []switchIn{{1040, tid}}}, {}}, Reading{Certainty: Near, Reason: Resumed}},
		{"it ran on another CPU", pendingReading{}, []cpuSwitches{{}, {switchIns: []switchIn{{1040, tid}}}}, Reading{Certainty: Near, Reason: Resumed}},
		{"it ran when the read ended", pendingReading{}, []cpuSwitches{{}, {switchIns: []switchIn{{1050, tid}}}}, Reading{Certainty: Near, Reason: Resumed}},
		{"it ran before the read", pendingReading{}, []cpuSwitches{{}, {switchIns: []switchIn{{1012, tid}}}}, Reading{Certainty: Near, Reason: Resumed}},
		{"no switch", pendingReading{next: noSwitch}, nil, Reading{Certainty: Near, Reason: KeptRunning}},
		{"other registers", pendingReading{next: otherRegisters}, nil, Reading{Certainty: Near, Reason: RegistersChanged}},
		{"the switch came during the read", pendingReading{switchedOut: 1030}, nil, Reading{Certainty: Near, Reason: KeptRunning}},
		{"switches were lost during the read", pendingReading{}, []cpuSwitches{{}, {lost: []timeSpan{{1045, 1100}}}}, Reading{Certainty: Near, Reason: SwitchesLost}},
		{"switches were lost at other times", pendingReading{}, []cpuSwitches{{}, {lost: []timeSpan{{1, 1009}, {1051, 1100}}}}, Reading{Certainty: Exact}},
		{"not read", pendingReading{Reading: Reading{Reason: TimedOut}}, nil, Reading{Certainty: None, Reason: TimedOut}},
	}
	for _, tt := range tests {
		p := tt.visit
		p.Time, p.TID, p.began, p.ended = 1000, tid, 1020, 1050
		if p.switchedOut == 0 {
			p.switchedOut = 1010
			if tt.want.Reason != KeptRunning && tt.want.Reason != RegistersChanged {
				p.next = sameRegisters
			}
		} else {
			p.next = sameRegisters
		}
		if tt.cpus == nil {
			tt.cpus = make([]cpuSwitches, 2)
		}
		c := classifier{cpus: tt.cpus, pending: []*pendingReading{&p}}
		for i := range c.cpus {
			c.cpus[i].progress = 1049
		}
		if done := c.takeClassified(); len(done) != 0 {
			t.Fatalf("%s: classified before everything is known", tt.name)
		}
		c.cpus[0].progress = 2000
		if done := c.takeClassified(); len(done) != 0 {
			t.Fatalf("%s: classified before everything is known of the other CPU", tt.name)
		}
		c.cpus[1].progress = 1050
		done := c.takeClassified()
		if len(done) != 1 || len(c.pending) != 0 {
			t.Fatalf("%s: not classified", tt.name)
		}
		got := done[0]
		if got.Certainty != tt.want.Certainty || got.Reason != tt.want.Reason || got.Late != 50 {
			t.Errorf("%s: %v, %q, %d ns late; want %v, %q, 50", tt.name, got.Certainty, got.Reason, got.Late, tt.want.Certainty, tt.want.Reason)
		}
	}
}

func TestOldSwitchesAreForgotten(t *testing.T) {
	var s cpuSwitches
	for _, at := range []uint64{5, 3, 9, 7} {
		s.add(switchIn{at, 1})
	}
	s.lost = []timeSpan{{1, 2}, {1, 8}}
	s.forget(6)
	if len(s.switchIns) != 2 || s.switchIns[0].time != 7 || s.switchIns[1].time != 9 || len(s.lost) != 1 {
		t.Errorf("%+v is left", s)
	}
}
