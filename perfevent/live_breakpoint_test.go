package perfevent

import (
	"context"
	"encoding/binary"
	"errors"
	"runtime"
	"sync/atomic"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

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
