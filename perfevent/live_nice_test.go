package perfevent

import (
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// The thread is another one's equal again once the rings are read.
func TestLiveAReaderIsFavouredWhileARingIsHalfFull(t *testing.T) {
	needRoot(t)
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // and never unlock: the thread ends with it
		var f niceThread
		nice := func() int {
			n, err := unix.Getpriority(unix.PRIO_PROCESS, 0)
			if err != nil {
				t.Error(err)
			}
			return 20 - n
		}
		own := nice()
		for _, step := range []struct {
			pressed bool
			want    int
		}{{false, own}, {true, max(own-nicer, -20)}, {true, max(own-nicer, -20)}, {false, own}} {
			if f.set(step.pressed); nice() != step.want {
				t.Errorf("niceness %d with a ring more than half full %v, want %d", nice(), step.pressed, step.want)
			}
		}
	}()
	<-done
}
