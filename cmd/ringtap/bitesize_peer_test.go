package main

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/testkit/loopdevice"
)

// blockName is what the thread of blockWrites is called.
const blockName = "blocks-of-tests"

// blockWrites writes to the device that the command line names, past the cache: n blocks of each size.
func blockWrites(n int) {
	runtime.LockOSThread()
	if err := unix.Prctl(unix.PR_SET_NAME, uintptr(unsafe.Pointer(cString(blockName))), 0, 0, 0); err != nil {
		panic(err)
	}
	file, err := os.OpenFile(os.Args[3], os.O_WRONLY|unix.O_DIRECT, 0)
	if err != nil {
		panic(err)
	}
	defer file.Close()
	memory, err := unix.Mmap(-1, 0, 64<<10, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE) // aligned
	if err != nil {
		panic(err)
	}
	for _, size := range []int{4 << 10, 16 << 10, 64 << 10} {
		for i := range n {
			if _, err := unix.Pwrite(int(file.Fd()), memory[:size], int64(i*size)); err != nil {
				panic(err)
			}
		}
	}
}

func TestPeerDebiansBitesizePrintsWhatBpftracePrints(t *testing.T) {
	needTracefs(t, "uprobe_events")
	device, _ := loopdevice.New(t)
	const each = 7
	ours, theirs := besideBpftrace(t, startKnown(t, "blocks", each, device), debiansTool(t, "bitesize"))
	want := mapOf(theirs, blockName)
	if n := strings.Count(want, fmt.Sprintf(" %d |@@@@", each)); n != 3 {
		t.Errorf("bpftrace prints %d sizes of %d requests each, want 3\n%s", n, each, theirs)
	}
	if got := mapOf(ours, blockName); got != want {
		t.Errorf("it prints\n%s\nbpftrace:\n%s", got, want)
	}
}

// debiansTool is the program of a tool of Debian's bpftrace.
func debiansTool(t *testing.T, name string) string {
	t.Helper()
	file := "/usr/sbin/" + name + ".bt"
	if _, err := os.Stat(file); err != nil {
		t.Skip("Debian's bpftrace is not installed")
	}
	return file
}

// mapOf is what is printed of a key, up to an empty line.
func mapOf(text, key string) string {
	_, text, _ = strings.Cut(text, "@["+key+"]: \n")
	text, _, _ = strings.Cut(text, "\n\n")
	return text
}
