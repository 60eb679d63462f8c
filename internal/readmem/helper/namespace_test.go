package helper

import (
	"os"
	"testing"
)

func TestTheThreadsOwnIDIsTheLast(t *testing.T) {
	for status, want := range map[string]int{
		"Name:\tx\nNStgid:\t7\t1\nNSpid:\t812\t5\nNSpgid:\t3\n": 5,
		"Name:\tx\nNSpid:\t812\n":                               812,
		"Name:\tx\nNSpid:\t4194304\t33\t1\n":                    1,
		"Name:\tNSpid:\t3\nPid:\t4\n":                           0,
		"Name:\tx\nNSpid:\t81":                                  0, // cut
		"Name:\tx\nNSpid:\t81\tx\n":                             0,
		"Name:\tx\nNSpid:\t99999999999999999999\n":              0,
		"": 0,
	} {
		if got := ownTID([]byte(status)); got != want {
			t.Errorf("%q: %d, want %d", status, got, want)
		}
	}
}

func TestAThreadsOwnIDIsRead(t *testing.T) {
	v := &Visit{clock: new(clock), tid: os.Getpid(), deadline: 1 << 63}
	if own, err := v.OwnTID(); own == 0 || err != nil {
		t.Errorf("%d, %v", own, err)
	}
	if n := testing.AllocsPerRun(10, func() { _, _ = v.OwnTID() }); n > 0 {
		t.Errorf("it allocates %v times", n)
	}
	v.tid = maxTID + 1
	if own, err := v.OwnTID(); err != ErrMemory {
		t.Errorf("a thread that does not exist: %d, %v", own, err)
	}
}

func FuzzOwnTID(f *testing.F) {
	f.Add([]byte("Name:\tx\nNSpid:\t812\t5\n"))
	f.Fuzz(func(t *testing.T, status []byte) {
		if own := ownTID(status); own < 0 || own > 10*maxTID+9 {
			t.Errorf("%d", own)
		}
	})
}
