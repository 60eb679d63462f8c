package perfevent

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/testlimit"
)

// hitEvent is a probe on the fixture program's hit.
func hitEvent(t testing.TB, isReturn bool) Event {
	t.Helper()
	path, offset := hitsProgram(t)
	event, err := Uprobe(path, offset, 0, isReturn)
	if errors.Is(err, ErrNoEvent) {
		t.Skip("this kernel has no uprobe PMU")
	}
	if err != nil {
		t.Fatal(err)
	}
	return event
}

func TestLiveUprobeSeesEveryCallOfThreadsAndChildren(t *testing.T) {
	needRoot(t)
	calls := max(600, testlimit.Calls(3000))
	for _, isReturn := range []bool{false, true} {
		event := hitEvent(t, isReturn)
		if s, err := Open(Process(os.Getpid()), []Sampling{{Event: event, Period: 1}}, Options{}); !errors.Is(err, ErrNotInherited) {
			s.Close()
			t.Errorf("%s on a process gives %v: it could not fork any more", event, err)
		}
		if event != hitEvent(t, isReturn) || event == hitEvent(t, !isReturn) {
			t.Error("events do not compare as their arguments do")
		}
		for _, where := range []string{"system", "thread"} {
			h := startHits(t, "hit", 3, 2, 2, calls, 0)
			target, share, slack := System(), uint64(1), miscounts(event, 7*calls)
			if where == "thread" {
				target, share, slack = Thread(h.tids[1]), 7, 7*miscounts(event, calls)
			}
			s := open(t, target, []Sampling{{Event: event, Period: 1, Raw: true, UserRegs: ipRegister, UserStack: 64}}, Options{})
			enable(t, s)
			var called, samples uint64
			ctx, cancel := context.WithCancel(context.Background())
			go func() {
				defer cancel()
				called, _ = h.call()
			}()
			err := s.Read(ctx, func(rec Record) error {
				if sample, ok := rec.(*Sample); ok {
					samples++
					// The common fields, then where the probe is, or two addresses.
					if len(sample.Raw) < 16 || isReturn && len(sample.Raw) < 24 {
						t.Errorf("raw data %x of %s", sample.Raw, event)
					}
					if len(sample.Regs.Values) != 1 || len(sample.Stack) != 64 {
						t.Errorf("%d registers, %d bytes of stack", len(sample.Regs.Values), len(sample.Stack))
					}
				}
				return nil
			})
			<-ctx.Done()
			a, _ := checkBooks(t, s)
			if err != nil || called != uint64(7*calls) || miscounted(samples*share, called, slack) || a.Received != samples || a.Lost != 0 || a.Counted != samples || !a.Exact {
				t.Errorf("%s on %s: %d calls, %d samples, %+v, %v", event, target, called, samples, a, err)
			}
		}
	}
}

func TestLiveUprobeErrorsSayWhatIsWrongWithThePlace(t *testing.T) {
	needRoot(t)
	path, offset := hitsProgram(t)
	dir := t.TempDir()
	program, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	bad := filepath.Join(dir, "bad") // hit begins with an instruction that cannot be probed
	copy(program[offset:], lockedInstruction)
	if err := os.WriteFile(bad, program, 0o755); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name, path string
		offset     uint64
		kernel     error
		hint       string
	}{
		{"no file", filepath.Join(dir, "none"), 0, fs.ErrNotExist, "no such file"},
		{"a directory", dir, 0, unix.EINVAL, "regular files"},
		{"a path through a file", path + "/x", 0, unix.ENOTDIR, "no such file"},
		{"an offset behind the end", path, 1 << 40, unix.EINVAL, "bytes only"},
		{"an instruction that cannot be probed", bad, offset, nil, "another instruction"},
	}
	for _, tt := range tests {
		event, err := Uprobe(tt.path, tt.offset, 0, false)
		if err != nil {
			t.Fatal(err)
		}
		target := System()
		if tt.path == bad {
			// The kernel looks at the instruction where a program has mapped it.
			target = Thread(startHitsOf(t, bad, "malloc", 0, 0, 0, 0, 0).pid())
		}
		s, err := Open(target, []Sampling{{Event: event, Period: 1}}, Options{})
		if err == nil {
			s.Close()
			t.Errorf("%s: opened", tt.name)
			continue
		}
		var open *OpenError
		if !errors.As(err, &open) || !errors.Is(err, ErrNotProbeable) || tt.kernel != nil && !errors.Is(err, tt.kernel) ||
			!strings.Contains(open.Hint, tt.hint) || !strings.Contains(err.Error(), event.String()) {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}
