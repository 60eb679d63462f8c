package snapshot

import (
	"bufio"
	"fmt"
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/ringtap/ringtap/internal/testkit/interptest"
	"github.com/ringtap/ringtap/internal/testkit/testlimit"
)

// pythonLocks starts threads that wait: two for locks, and one each for an event, a queue, another
// thread's end and a pool's work. Each prints its name and thread id.
const pythonLocks = `
import concurrent.futures, os, queue, threading
accounts, journal, both = threading.Lock(), threading.Lock(), threading.Barrier(2)
def told(name): os.write(1, b'%s %d\n' % (name.encode(), threading.get_native_id()))
def transfer():
    with accounts:
        both.wait()
        told("lock")
        with journal: pass
def flush():
    with journal:
        both.wait()
        told("lock")
        with accounts: pass
def event():
    told("event")
    threading.Event().wait()
def take():
    told("queue")
    queue.SimpleQueue().get()
def join():
    told("join")
    threads[0].join()
pool = concurrent.futures.ThreadPoolExecutor(1)
pool.submit(told, "pool").result()
threads = [threading.Thread(target=f) for f in (transfer, flush, event, take, join)]
for t in threads: t.start()
told("main")
threads[0].join()
`

// hasNamedLocks reports whether a Python has threading.get_native_id (3.8 and later) and waits for
// locks in a function of its own (before 3.14, which inlines it).
func hasNamedLocks(path string) bool {
	return exec.Command(path, "-c", "import sys; sys.exit(not (3, 8) <= sys.version_info < (3, 14))").Run() == nil
}

func TestLiveThreadsOfPythonThatWaitForALockSaySo(t *testing.T) {
	pythons := slices.DeleteFunc(interptest.Installed("python"), func(path string) bool { return !hasNamedLocks(path) })
	if len(pythons) == 0 {
		t.Skip("python3 is not installed")
	}
	for _, path := range pythons {
		t.Run(path, func(t *testing.T) {
			cmd := exec.Command(path, "-c", pythonLocks)
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			testlimit.Limit(t, cmd)
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				cmd.Process.Kill()
				cmd.Wait()
			})
			waits := make(map[int]string) // by TID
			for lines := bufio.NewScanner(out); len(waits) < 7 && lines.Scan(); {
				var name string
				var tid int
				if _, err := fmt.Sscan(lines.Text(), &name, &tid); err != nil {
					t.Fatalf("%q: %v", lines.Text(), err)
				}
				waits[tid] = name
			}
			found := make(map[Lock]bool)
			for end := time.Now().Add(testlimit.End); len(found) < 2 && time.Now().Before(end); {
				clear(found)
				for _, thread := range take(t, Options{Locks: true}, cmd.Process.Pid).Threads {
					if thread.Holder == nil {
						continue
					}
					switch name := waits[thread.TID]; {
					case name == "lock" && thread.Holder.Lock.Kind == "Python lock":
						found[thread.Holder.Lock] = true
					case name == "queue" && path == "/usr/bin/python3": // without symbols a queue looks like a lock
					default:
						t.Errorf("thread %s waits for %s", name, thread.Holder.Lock)
					}
				}
			}
			if len(found) != 2 {
				t.Errorf("threads wait for %v, want two locks", found)
			}
		})
	}
}
