package perfevent

import (
	"context"
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/testkit/testlimit"
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

// watchedWord is what the breakpoint watches.
var watchedWord uint64

func TestLiveBreakpointSamplesEveryWrite(t *testing.T) {
	needRoot(t)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	addr := uint64(uintptr(unsafe.Pointer(&watchedWord)))
	s, err := Open(Thread(unix.Gettid()), []Sampling{{
		Event: Breakpoint(BreakpointWrite, addr, 8), Period: 1, Addr: true, ExcludeKernel: true,
	}}, Options{})
	if errors.Is(err, ErrNoEvent) || errors.Is(err, unix.ENOSPC) {
		t.Skipf("no hardware breakpoints: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if !breakpointsFire(t) {
		t.Skip("hardware breakpoints never fire: the hypervisor does not pass them on")
	}
	enable(t, s)
	const writes = 100
	for i := range uint64(writes) {
		watchedWord = i
		runtime.Gosched() // keeps the compiler from joining the writes
	}
	done, cancel := context.WithCancel(context.Background())
	cancel()
	all := read(t, s, done)
	for _, f := range all.samples {
		if f.addr != addr {
			t.Errorf("a sample at %#x, want %#x", f.addr, addr)
		}
	}
	// arm64 stops before the write and steps over it: a thread that is interrupted
	// in between comes to the same write again.
	again := uint64(0)
	if runtime.GOARCH == "arm64" {
		again = writes / 10
	}
	if a, _ := checkBooks(t, s); a.Received < writes || a.Received > writes+again {
		t.Errorf("%d samples of %d writes", a.Received, writes)
	}
}

// breakpointsFire reports whether the kernel counts a write to a word that a breakpoint is on.
func breakpointsFire(t *testing.T) bool {
	t.Helper()
	word := new(uint64)
	fd, err := unix.PerfEventOpen(&unix.PerfEventAttr{
		Type: unix.PERF_TYPE_BREAKPOINT, Size: uint32(unsafe.Sizeof(unix.PerfEventAttr{})),
		Bp_type: 2, // HW_BREAKPOINT_W (include/uapi/linux/hw_breakpoint.h)
		Ext1:    uint64(uintptr(unsafe.Pointer(word))), Ext2: 8, Bits: unix.PerfBitExcludeKernel,
	}, 0, -1, -1, unix.PERF_FLAG_FD_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	atomic.StoreUint64(word, 1)
	var count [8]byte
	if _, err := unix.Read(fd, count[:]); err != nil {
		t.Fatal(err)
	}
	return binary.NativeEndian.Uint64(count[:]) > 0
}
