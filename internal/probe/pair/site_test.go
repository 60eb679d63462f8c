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
