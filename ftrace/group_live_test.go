package ftrace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/testkit/testlimit"
)

// place is somewhere in a file that is not code and that nothing runs: the
// events of these tests are never hit.
const place = "/bin/true:0x40"

// withUprobes returns the tracefs of the running kernel.
func withUprobes(t testing.TB) *FS {
	t.Helper()
	tracefs := liveTracefs(t)
	if !tracefs.Has("uprobe_events") {
		t.Skip("uprobe_events: the kernel is built without CONFIG_UPROBE_EVENTS")
	}
	return tracefs
}

// newGroup makes a group of events of a file that is gone when the test ends.
func newGroup(t testing.TB, tracefs *FS, file string) *Group {
	t.Helper()
	group, err := tracefs.NewGroup(file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := group.Close(); err != nil {
			t.Error(err)
		}
	})
	return group
}

// definitions are the lines of uprobe_events about groups that keep says so of.
func definitions(t testing.TB, tracefs *FS, keep func(group string) bool) []string {
	t.Helper()
	text, err := tracefs.readDefinitions("uprobe_events")
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for line := range strings.Lines(text) {
		if _, rest, ok := strings.Cut(line, ":"); ok {
			if group, _, _ := strings.Cut(rest, "/"); keep(group) {
				lines = append(lines, strings.TrimSpace(line))
			}
		}
	}
	return lines
}

// byHand defines an event as any other program would, and removes it when the
// test ends.
func byHand(t testing.TB, tracefs *FS, group, event string) {
	t.Helper()
	if err := tracefs.appendLine("uprobe_events", "p:"+group+"/"+event+" "+place); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := tracefs.removeEvent("uprobe_events", group, event, closePatience); err != nil {
			t.Error(err)
		}
	})
}

func TestLiveEventsOfAGroupAreThereUntilItIsClosed(t *testing.T) {
	tracefs := withUprobes(t)
	group := newGroup(t, tracefs, "uprobe_events")
	start, _, err := startTime("self")
	if err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("ringtap_%d_%d", os.Getpid(), start); group.Name() != want {
		t.Errorf("the group's name is %s; want %s", group.Name(), want)
	}
	for _, d := range []Dynamic{
		{Type: 'p', Event: "plain", Place: place},
		{Type: 'r', Event: "returns", Place: place, Args: "$retval  name=+0($retval):string"},
	} {
		id, err := group.Define(d)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := tracefs.EventID(group.Name(), d.Event); err != nil || id != again {
			t.Errorf("%s is number %d; the kernel says %d, %v", d.Event, id, again, err)
		}
	}
	own := func(g string) bool { return g == group.Name() }
	if got, want := definitions(t, tracefs, own), []string{
		"p:" + group.Name() + "/plain /bin/true:0x0000000000000040",
		"r:" + group.Name() + "/returns /bin/true:0x0000000000000040 arg1=$retval name=+0($retval):string",
	}; !slices.Equal(got, want) {
		t.Errorf("uprobe_events has %q; want %q", got, want)
	}
	for range 2 {
		if err := group.Close(); err != nil {
			t.Fatal(err)
		}
		if got := definitions(t, tracefs, own); got != nil {
			t.Errorf("after Close uprobe_events still has %q", got)
		}
	}
	if _, err := group.Define(Dynamic{Type: 'p', Event: "late", Place: place}); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("Define on a closed group: %v; want ErrClosed", err)
	}
}

func TestLiveGroupsOfOneProcessDoNotShareANameOrEvents(t *testing.T) {
	tracefs := withUprobes(t)
	first, second := newGroup(t, tracefs, "uprobe_events"), newGroup(t, tracefs, "uprobe_events")
	if want := first.Name() + "_2"; second.Name() != want {
		t.Errorf("the second group is %s; want %s", second.Name(), want)
	}
	event := Dynamic{Type: 'p', Event: "same", Place: place}
	for _, group := range []*Group{first, second} {
		if _, err := group.Define(event); err != nil {
			t.Fatal(err)
		}
		if _, err := group.Define(event); !errors.Is(err, fs.ErrExist) {
			t.Errorf("the same event again: %v; want ErrExist", err)
		}
	}
	if err := second.Close(); err != nil {
		t.Fatal(err)
	}
	if got := definitions(t, tracefs, func(g string) bool { return strings.HasPrefix(g, first.Name()) }); len(got) != 1 {
		t.Errorf("after the second was closed there are %q; want the first's event", got)
	}
}

func TestLiveAGroupIsClosedAsSoonAsItsPerfEventsAre(t *testing.T) {
	tracefs := withUprobes(t)
	group := newGroup(t, tracefs, "uprobe_events")
	file := filepath.Join(t.TempDir(), "never run") // an open perf event puts a breakpoint there
	if err := os.WriteFile(file, make([]byte, 64), 0o600); err != nil {
		t.Fatal(err)
	}
	alias, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer alias.Close()
	id, err := group.Define(Dynamic{Type: 'p', Event: "busy", Place: fmt.Sprintf("/proc/%d/fd/%d:0x10", os.Getpid(), alias.Fd())})
	if err != nil {
		t.Fatal(err)
	}
	attr := unix.PerfEventAttr{Type: unix.PERF_TYPE_TRACEPOINT, Config: id, Sample: 1, Sample_type: unix.PERF_SAMPLE_RAW}
	attr.Size = uint32(unix.PERF_ATTR_SIZE_VER6)
	fd, err := unix.PerfEventOpen(&attr, -1, 0, -1, unix.PERF_FLAG_FD_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	if err := group.Close(); !errors.Is(err, unix.EBUSY) {
		t.Errorf("Close with a perf event open: %v; want EBUSY", err)
	}
	if err := unix.Close(fd); err != nil {
		t.Fatal(err)
	}
	if err := group.Close(); err != nil {
		t.Errorf("Close after the perf event was closed: %v", err)
	}
}

func TestLiveOnlyWhatDeadOwnersLeftIsRemoved(t *testing.T) {
	tracefs := withUprobes(t)
	dead := exec.Command("true")
	if err := dead.Run(); err != nil {
		t.Fatal(err)
	}
	pid := os.Getpid()
	start, _, err := startTime("self")
	if err != nil {
		t.Fatal(err)
	}
	gone := fmt.Sprintf("ringtap_%d_%d", dead.Process.Pid, start)
	living := newGroup(t, tracefs, "uprobe_events")
	if _, err := living.Define(Dynamic{Type: 'p', Event: "f", Place: place}); err != nil {
		t.Fatal(err)
	}
	// A ringtap in a container: its process id means nothing here, its lock does.
	elsewhere := fmt.Sprintf("ringtap_%d_%d_3", dead.Process.Pid, start)
	lock, err := os.OpenFile(filepath.Join(tracefs.Dir(), "tracing_on"), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	at := lockPlace(elsewhere)
	if err := unix.FcntlFlock(lock.Fd(), unix.F_OFD_SETLK, &at); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name, group string
		stale       bool
	}{
		{"the process is gone", gone, true},
		{"the process is gone, and it was its second group", gone + "_2", true},
		{"another process has the process id now", fmt.Sprintf("ringtap_%d_%d", pid, start+1), true},
		{"the process lives and made the group by hand", fmt.Sprintf("ringtap_%d_%d_77", pid, start), false},
		{"the owner lives in another pid namespace", elsewhere, false},
		{"init lives", initGroup(t), false},
		{"another program's group", fmt.Sprintf("other_%d_%d", dead.Process.Pid, start), false},
		{"a name that only looks like ringtap's", fmt.Sprintf("ringtap_%d_%dx", dead.Process.Pid, start), false},
		{"a name without a start time", fmt.Sprintf("ringtap_%d", dead.Process.Pid), false},
	} {
		t.Run(test.name, func(t *testing.T) {
			byHand(t, tracefs, test.group, "f")
			// Other ringtaps remove what is stale too, and this one what others left:
			// only what there is of this group afterwards is certain.
			tracefs.RemoveStale(0)
			left := definitions(t, tracefs, func(g string) bool { return g == test.group })
			if (len(left) == 0) != test.stale {
				t.Errorf("uprobe_events has %q; want it removed: %t", left, test.stale)
			}
		})
	}
	if got := definitions(t, tracefs, func(g string) bool { return g == living.Name() }); len(got) != 1 {
		t.Errorf("the living group has %q; want its event", got)
	}
}

func initGroup(t *testing.T) string {
	start, _, err := startTime("1")
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("ringtap_1_%d", start)
}

func TestLiveAnInstanceOfADeadOwnerIsRemoved(t *testing.T) {
	tracefs := withUprobes(t)
	name := fmt.Sprintf("ringtap_%d_%d", os.Getpid(), 1)
	if err := os.Mkdir(filepath.Join(tracefs.Dir(), "instances", name), 0o700); err != nil {
		t.Fatal(err)
	}
	// It reports what others left too. A ringtap that looks for what is stale has files of
	// the instance open, which nobody can remove meanwhile.
	for end := time.Now().Add(testlimit.End); tracefs.Has("instances/" + name); {
		if tracefs.RemoveStale(0); time.Now().After(end) {
			unix.Rmdir(filepath.Join(tracefs.Dir(), "instances", name))
			t.Fatalf("the instance %s is left", name)
		}
	}
}

// What belongs to this process is left alone by every other ringtap, so this one has
// removed it.
func TestLiveWhatIsRemovedIsReported(t *testing.T) {
	tracefs := withUprobes(t)
	start, _, err := startTime("self")
	if err != nil {
		t.Fatal(err)
	}
	name := fmt.Sprintf("ringtap_%d_%d_77", os.Getpid(), start)
	dir := filepath.Join(tracefs.Dir(), "instances", name)
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	defer unix.Rmdir(dir)
	byHand(t, tracefs, name, "f")
	removed, err := tracefs.removeOf(func(owner string) bool { return owner == name })
	if want := []string{"instances/" + name, name + "/f"}; err != nil || !slices.Equal(removed, want) {
		t.Errorf("removed %q, %v; want %q", removed, err, want)
	}
}

// Every NewInstance and NewGroup on the host removes what is stale: one finds that
// another was quicker, at any step of it, and that is no error.
func TestLiveAnInstanceThatSeveralRemoveIsGoneForAll(t *testing.T) {
	tracefs := withUprobes(t)
	start, _, err := startTime("self")
	if err != nil {
		t.Fatal(err)
	}
	// Ringtaps of other tests leave it alone: its owner lives.
	dir := filepath.Join(tracefs.Dir(), "instances", fmt.Sprintf("ringtap_%d_%d_78", os.Getpid(), start))
	for range 20 {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		errs := make(chan error, 8)
		for range cap(errs) {
			go func() { errs <- removeInstance(dir, stalePatience) }()
		}
		for range cap(errs) {
			if err := <-errs; err != nil {
				t.Error(err)
			}
		}
		if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
			t.Fatalf("%s is still there: %v", dir, err)
		}
	}
}

func TestLiveAnInstanceThatIsBusyForAMomentIsRemovedThen(t *testing.T) {
	tracefs := withUprobes(t)
	start, _, err := startTime("self")
	if err != nil {
		t.Fatal(err)
	}
	// Ringtaps of other tests leave it alone: its owner lives.
	name := fmt.Sprintf("ringtap_%d_%d_79", os.Getpid(), start)
	dir := filepath.Join(tracefs.Dir(), "instances", name)
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Remove(dir) })
	busy, err := os.Open(filepath.Join(dir, "trace_pipe"))
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	if removed, err := tracefs.removePatiently(func(owner string) bool { return owner == name }, 0); !errors.Is(err, unix.EBUSY) {
		t.Fatalf("removed %q, %v; want that it is busy", removed, err)
	}
	tries := 0
	removed, err := tracefs.removePatiently(func(owner string) bool {
		if owner != name {
			return false
		}
		if tries++; tries == 2 {
			busy.Close()
		}
		return true
	}, testlimit.End)
	if err != nil || !slices.Equal(removed, []string{"instances/" + name}) {
		t.Errorf("removed %q, %v", removed, err)
	}
}

// What a tracer with arguments pays between its start and being armed.
func BenchmarkLiveGroup(b *testing.B) {
	tracefs := withUprobes(b)
	b.ReportAllocs()
	for b.Loop() {
		group, err := tracefs.NewGroup("uprobe_events")
		if err != nil {
			b.Fatal(err)
		}
		if _, err := group.Define(Dynamic{Type: 'p', Event: "e", Place: place, Args: here("a=%di")}); err != nil {
			b.Fatal(err)
		}
		if err := group.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
