package goroutine

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/testkit/compiled"
)

func TestAProgramThatIsNotGoHasNoRuntime(t *testing.T) {
	cmd := exec.Command("sh", "-c", "echo ready; read line")
	p := startCommand(t, cmd)
	if _, err := Find(p.process(t)); !errors.Is(err, ErrNotGo) {
		t.Errorf("the error is %v", err)
	}
}

// TestAnUnknownGoIsReadByItsDebugInformationOrNotAtAll changes the version that a
// program says that it was built by.
func TestAnUnknownGoIsReadByItsDebugInformationOrNotAtAll(t *testing.T) {
	is := runtime.Version()
	if _, ok := minorOf(is); !ok || len(is) != len("go1.26.8") {
		t.Skipf("%s is not as long as others", is)
	}
	for _, test := range []struct {
		name, says, flags, want string
	}{
		{"newer", "go1.99.8", "", ""},
		{"newer, without debug information", "go1.99.8", "-w", "the releases that are known are Go 1.18 to"},
		{"newer, stripped", "go1.99.8", "-s -w", "the releases that are known are Go 1.18 to"},
		{"unreleased", "develgo1", "", ""},
		{"unreleased, stripped", "develgo1", "-s -w", "the releases that are known are Go 1.18 to"},
		{"older than any that is known, stripped", "go1.17.8", "-s -w", "releases before Go 1.18 are not known"},
		{"another layout", "go1.18.8", "", ""},
		{"another layout, stripped", "go1.18.8", "-s -w", "list of goroutines"},
		{"another layout, without debug information", "go1.18.8", "-w", "does not look like goroutines of this Go"},
	} {
		t.Run(test.name, func(t *testing.T) {
			path := compiled.Copy(t, buildProgram(t, "park", []string{"CGO_ENABLED=0"}, "-ldflags="+test.flags))
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, bytes.ReplaceAll(b, []byte(is), []byte(test.says)), 0o755); err != nil {
				t.Fatal(err)
			}
			p := startProgram(t, path)
			if test.want == "" {
				compare(t, p)
				return
			}
			found, err := Find(p.process(t))
			var unknown *UnknownError
			if !errors.As(err, &unknown) || unknown.path != path || unknown.version != test.says || !strings.Contains(unknown.Why, test.want) {
				t.Errorf("found %v, the error is %v", found, err)
			}
			t.Log(err)
		})
	}
}

func TestAProcessThatHasEndedIsAnError(t *testing.T) {
	p := startProgram(t, buildProgram(t, "park", []string{"CGO_ENABLED=0"}))
	r := p.runtime(t)
	p.to.Close()
	if _, err := p.from.ReadByte(); err == nil {
		t.Fatal("it still writes")
	}
	for {
		err := r.Goroutines(context.Background(), func(*Goroutine) bool { return true })
		if err == nil {
			continue // it is about to end
		}
		if !errors.Is(err, unix.ESRCH) {
			t.Errorf("the error is %v", err)
		}
		return
	}
}

func TestReadingEndsWhenTheCallerHasEnough(t *testing.T) {
	p := startProgram(t, buildProgram(t, "park", []string{"CGO_ENABLED=0"}))
	r := p.runtime(t)
	n := 0
	if err := r.Goroutines(context.Background(), func(*Goroutine) bool { n++; return n < 3 }); err != nil || n != 3 {
		t.Errorf("%d goroutines, %v", n, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := r.Goroutines(ctx, func(*Goroutine) bool { return true }); !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
}

func TestAProcessWithAnotherClockHasNoTimes(t *testing.T) {
	if out, err := exec.Command("unshare", "--time", "--monotonic", "-1000", "true").CombinedOutput(); err != nil {
		t.Skipf("unshare --time: %v: %s", err, out)
	}
	path := buildProgram(t, "park", []string{"CGO_ENABLED=0"})
	p := startCommand(t, exec.Command("unshare", "--time", "--monotonic", "-1000", path))
	for _, g := range goroutines(t, p.runtime(t)) {
		if g.Known {
			t.Errorf("goroutine %d [%s] has waited %v", g.ID, g.State(), g.Waited)
		}
	}
}
