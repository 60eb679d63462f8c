package testlimit

import (
	"testing"
	"time"
)

func TestAThoroughTestRunsOnlyWhereNothingIsLeftOut(t *testing.T) {
	for value, want := range map[string]bool{"": false, "1": true} {
		t.Run("RINGTAP_THOROUGH="+value, func(t *testing.T) {
			t.Setenv(ThoroughVariable, value)
			ran := false
			t.Run("thorough", func(t *testing.T) {
				Thorough(t)
				ran = true
			})
			if ran != want {
				t.Errorf("it ran: %v, want %v", ran, want)
			}
		})
	}
}

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
