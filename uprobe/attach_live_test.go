package uprobe

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/testkit/testlimit"
	"github.com/ringtap/ringtap/perfevent"
)

func TestLiveThreadsAndChildrenAreHitToTheLastCall(t *testing.T) {
	program := own(t, "pie")
	p := resolve(t, "p:"+program+":target", Options{})
	calls := testlimit.Calls(20000)
	if hits := trace(t, p, AttachOptions{PerSampling: 1}, program, strconv.Itoa(calls), "4"); len(hits) != 5*calls {
		t.Errorf("of a process %d hits, want %d", len(hits), 5*calls)
	}
	if hits := traceSystem(t, p, AttachOptions{}, program, strconv.Itoa(calls), "4"); len(hits) != 5*calls {
		t.Errorf("system-wide %d hits, want %d", len(hits), 5*calls)
	}
}

func TestLiveTheKernelFilters(t *testing.T) {
	program := own(t, "pie")
	p := resolve(t, "p:"+program+":target n=$arg1:s32 name=+0($arg2):string", Options{})
	for filter, want := range map[string]int{
		"n == 5":                  1,
		"n < 0":                   1,
		`name == "two"`:           33,
		`name ~ "z*" && n > 50`:   16,
		`n == 1 || name == "one"`: 34,
	} {
		if hits := trace(t, p, AttachOptions{Filter: filter}, program, "100"); len(hits) != want {
			t.Errorf("%s: %d hits, want %d", filter, len(hits), want)
		}
	}
}

func TestLiveAWrongFilterIsPointedAtAndLeavesNothing(t *testing.T) {
	needRoot(t)
	program := own(t, "pie")
	p := resolve(t, "p:"+program+":target n=$arg1:s32", Options{})
	before := uprobeEvents(t)
	_, err := Attach(p, AttachOptions{Filter: "n == 1 && nosuch == 2"})
	var wrong *ftrace.FilterError
	if !errors.As(err, &wrong) || !strings.HasPrefix(wrong.Filter[max(wrong.Pos, 0):], "nosuch") {
		t.Errorf("the error is %v", err)
	}
	if after := uprobeEvents(t); ownLines(after) != ownLines(before) {
		t.Errorf("before\n%safter\n%s", ownLines(before), ownLines(after))
	}
}

func uprobeEvents(t *testing.T) string {
	t.Helper()
	tracefs, _, err := ftrace.Mount()
	if err != nil {
		t.Skip(err)
	}
	text, err := os.ReadFile(filepath.Join(tracefs.Dir(), "uprobe_events"))
	if err != nil {
		t.Skip(err)
	}
	return string(text)
}

// ownLines are the events of this process: others run beside.
func ownLines(text string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		if strings.Contains(line, fmt.Sprintf("ringtap_%d_", os.Getpid())) {
			out.WriteString(line)
		}
	}
	return out.String()
}

func TestLiveAnErrorHalfWayLeavesNothing(t *testing.T) {
	needRoot(t)
	program := own(t, "pie")
	p := resolve(t, "p:"+program+":target $arg1", Options{})
	p.Sites = append(p.Sites, p.Sites[0])
	p.Sites[1].Event = "second"
	p.Sites[1].KernelPath = filepath.Join(t.TempDir(), "gone")
	if a, err := Attach(p, AttachOptions{}); err == nil {
		a.Close()
		t.Fatal("a file that is gone was probed")
	}
	if left := ownLines(uprobeEvents(t)); left != "" {
		t.Errorf("left behind:\n%s", left)
	}
}

func TestLiveAnothersEventOfTheSameNameStays(t *testing.T) {
	needRoot(t)
	program := own(t, "pie")
	p := resolve(t, "p:shared_name "+program+":target $arg1", Options{})
	before := uprobeEvents(t)
	other := fmt.Sprintf("uprobe_test_%d/shared_name", os.Getpid())
	appendEvent(t, fmt.Sprintf("p:%s %s:%#x", other, program, p.Sites[0].Offset))
	defer appendEvent(t, "-:"+other)
	if hits := trace(t, p, AttachOptions{}, program, "10"); len(hits) != 10 {
		t.Errorf("%d hits, want 10", len(hits))
	}
	if after := uprobeEvents(t); strings.Count(after, other) != 1 || strings.Contains(before, other) {
		t.Errorf("the other's event is not there:\n%s", after)
	}
}

func appendEvent(t *testing.T, line string) {
	t.Helper()
	tracefs, err := ftrace.Find()
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(filepath.Join(tracefs.Dir(), "uprobe_events"), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(line + "\n"); err != nil {
		t.Fatalf("%s: %v", line, err)
	}
}

func TestLiveMergedSitesAreOneEventThatIsHitAtEach(t *testing.T) {
	for _, test := range []struct {
		build, definition string
		hits              int
		texts             []string
	}{
		{"cxx", "p:{}:ns::*", 6 * 10, nil},
		{"cxx", "r:{}:ns::T::f $retval:s32", 3 * 3, []string{"arg1=-1", "arg1=0", "arg1=1", "arg1=2", "arg1=3"}},
		{"go", `r:{}:"main.(*counter).add" $retval:s64`, 4 * 3, []string{"arg1=0", "arg1=1", "arg1=3"}},
	} {
		program := own(t, test.build)
		p := resolve(t, replaceTarget(test.definition, program), Options{})
		if len(p.Sites) < 2 {
			t.Errorf("%s: %d sites", p, len(p.Sites))
		}
		calls := "10"
		if test.texts != nil {
			calls = "3"
		}
		o := AttachOptions{Merge: true}
		hits := trace(t, p, o, program, calls)
		if len(hits) != test.hits || slices.ContainsFunc(hits, func(h hit) bool { return h.site > 0 }) {
			t.Errorf("%s: %d hits, want %d of one event", p, len(hits), test.hits)
		}
		if got := texts(hits); test.texts != nil && !slices.Equal(got, test.texts) {
			t.Errorf("%s: %q, want %q", p, got, test.texts)
		}
	}
}

func TestLiveWithoutTracefsPerfsOwnEventsServe(t *testing.T) {
	program := own(t, "pie")
	p := resolve(t, "p:"+program+":target", Options{})
	none := AttachOptions{Tracefs: ftrace.At(t.TempDir())}
	if hits := traceSystem(t, p, none, program, "10"); len(hits) != 10 {
		t.Errorf("%d hits, want 10", len(hits))
	}
	none.Target = perfevent.Process(os.Getpid())
	if a, err := Attach(p, none); err == nil {
		a.Close()
		t.Error("a process is watched by events that would keep it from starting threads")
	}
	none.Target = perfevent.System()
	p = resolve(t, "p:"+program+":target $arg1", Options{})
	if a, err := Attach(p, none); err == nil {
		a.Close()
		t.Error("an argument is fetched without tracefs")
	}
}

func TestLiveAFileSeenFromInsideOfARootIsProbed(t *testing.T) {
	needRoot(t)
	root := t.TempDir()
	copyFile(t, build(t, "static"), filepath.Join(root, "my prog"))
	cmd := exec.Command("/my prog", "10")
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: root}
	cmd.Dir = "/"
	c, err := perfevent.StartCommand(cmd)
	if err != nil {
		t.Fatal(err)
	}
	p, err := tryResolve(`p:"/my prog":target`, Options{PID: c.PID()})
	if err != nil {
		c.Kill()
		t.Fatal(err)
	}
	defer p.Close()
	if hits := traceCommand(t, p, AttachOptions{}, c); len(hits) != 10 {
		t.Errorf("%d hits, want 10", len(hits))
	}
}

func TestLiveAPathWithBlanksIsProbed(t *testing.T) {
	program := filepath.Join(t.TempDir(), "my prog: a (1)")
	copyFile(t, build(t, "pie"), program)
	p := resolve(t, `p:"`+program+`":target $arg1`, Options{})
	if hits := trace(t, p, AttachOptions{}, program, "10"); len(hits) != 10 {
		t.Errorf("%d hits, want 10", len(hits))
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	text, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, text, 0o755); err != nil {
		t.Fatal(err)
	}
}
