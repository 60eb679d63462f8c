package pace

import (
	"testing"
	"time"
)

func TestAnEmulatedMachineDoesLessAndIsGivenLonger(t *testing.T) {
	t.Setenv(Variable, "")
	if n, d := Calls(500), Patience(time.Second); n != 500 || d != time.Second {
		t.Errorf("on a machine: %d calls, %s", n, d)
	}
	t.Setenv(Variable, "1")
	if n, few, d := Calls(500), Calls(3), Patience(time.Second); n != 25 || few != 1 || d != 10*time.Second {
		t.Errorf("emulated: %d calls, %d of 3, %s", n, few, d)
	}
}
