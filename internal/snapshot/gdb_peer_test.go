package snapshot

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ringtap/ringtap/internal/testkit/testlimit"
	"github.com/ringtap/ringtap/internal/testkit/truth"
)

// gdbScript has gdb print the frames of all threads, leaf first, "TID function+0xoffset"
// with the address that the frame returns to; those that are inlined or ended in a jump
// have no frame.
const gdbScript = `
import gdb
gdb.execute("set backtrace past-main on")
gdb.execute("set backtrace past-entry on")
for thread in gdb.selected_inferior().threads():
    thread.switch()
    frame = gdb.newest_frame()
    while frame:
        if frame.type() not in (gdb.INLINE_FRAME, gdb.TAILCALL_FRAME):
            # Behind a call that never returns another function may begin.
            made_call = frame.newer() and frame.newer().type() != gdb.SIGTRAMP_FRAME
            into = 1 if made_call else 0
            where = gdb.execute("info symbol %d" % (frame.pc() - into), to_string=True).split()
            offset = into + (int(where[2]) if where[1] == "+" else 0)
            print("frame", thread.ptid[1], "%s+0x%x" % (frame.name(), offset))
        frame = frame.older()
`

// gdbStacks are the frames of all threads, leaf first, by gdb.
func gdbStacks(t *testing.T, pid int) map[int][]string {
	t.Helper()
	if _, err := exec.LookPath("gdb"); err != nil {
		t.Skip("gdb is not installed")
	}
	script := filepath.Join(t.TempDir(), "stacks.py")
	if err := os.WriteFile(script, []byte(gdbScript), 0o666); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("gdb", "-nx", "-p", strconv.Itoa(pid), "-batch", "-x", script).CombinedOutput()
	if err != nil {
		t.Fatalf("gdb: %v\n%s", err, out)
	}
	stacks := make(map[int][]string)
	for line := range strings.Lines(string(out)) {
		if fields := strings.Fields(line); len(fields) == 3 && fields[0] == "frame" {
			tid, _ := strconv.Atoi(fields[1])
			stacks[tid] = append(stacks[tid], fields[2])
		}
	}
	return stacks
}

// places are the frames of a thread as gdbScript prints them.
func places(t *Thread) (places []string) {
	for i := range t.User {
		places = append(places, fmt.Sprintf("%s+%#x", t.User[i].Name, t.User[i].Offset))
	}
	return places
}

// own are the frames as gdb would name them, a thread's that runs but for its leaf: those of the program, since the two
// choose among the names of a library's function differently.
func own(names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !strings.HasPrefix(name, "wait_") && !strings.HasPrefix(name, "main+") })
}

func TestPeerStacksAreThoseOfGDB(t *testing.T) {
	for _, build := range slices.Concat(builds, builds32) {
		t.Run(build.name, func(t *testing.T) {
			if slices.Contains(build.flags, "-m32") {
				truth.Named("i386-middle-nofp").Build(t) // which skips where there are no 32-bit programs
			}
			pid := startWaits(t, build.flags)
			s := take(t, Options{}, pid)
			for end := time.Now().Add(testlimit.End); slices.ContainsFunc(s.Threads, func(t *Thread) bool { return t.Missing == notRun }); {
				if time.Now().After(end) {
					t.Fatal("a thread that is ready to run does not run")
				}
				s = take(t, Options{}, pid) // others had the CPUs all the time
			}
			want := gdbStacks(t, pid)
			if len(want) != len(s.Threads) {
				t.Errorf("gdb shows %d threads, ringtap %d", len(want), len(s.Threads))
			}
			for _, thread := range s.Threads {
				leaf := 0
				if thread.State == 'R' {
					leaf = 1 // it has gone on
				}
				got, want := places(thread), want[thread.TID]
				if !slices.Equal(own(got[leaf:]), own(want[min(leaf, len(want)):])) {
					t.Errorf("%s: %q, by gdb %q", thread.Comm, got, want)
				}
				if thread.State != 'R' && len(got) != len(want) {
					t.Errorf("%s: %d frames %q, by gdb %d %q", thread.Comm, len(got), got, len(want), want)
				}
			}
		})
	}
}
