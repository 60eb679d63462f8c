package pair

import (
	"testing"

	"github.com/ringtap/ringtap/perfevent"
)

func TestEachIdleTaskIsOneOfItsOwn(t *testing.T) {
	idle := &perfevent.Sample{Header: perfevent.Header{CPU: 1}}
	other := &perfevent.Sample{Header: perfevent.Header{CPU: 2}}
	one, _ := Site{}.Place(idle)
	two, _ := Site{}.Place(other)
	if again, _ := (Site{}).Place(idle); one == two || one != again {
		t.Errorf("the idle tasks of two CPUs are %v and %v", one, two)
	}
}

func TestARegisterIsFoundBehindThoseBelowIt(t *testing.T) {
	r := perfevent.Registers{Mask: 1<<3 | 1<<7 | 1<<22, Values: []uint64{3, 7, 22}}
	for _, number := range []uint{3, 7, 22} {
		if v, ok := register(&r, number); !ok || v != uint64(number) {
			t.Errorf("register %d is %d, %v", number, v, ok)
		}
	}
	if _, ok := register(&r, 4); ok {
		t.Error("register 4 is there and should not be")
	}
	r.Values = r.Values[:2]
	if _, ok := register(&r, 22); ok {
		t.Error("register 22 is there, behind the end")
	}
}
