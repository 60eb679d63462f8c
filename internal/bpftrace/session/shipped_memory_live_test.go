package session

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/testkit/loopdevice"
	"github.com/ringtap/ringtap/internal/testkit/testlimit"
	"github.com/ringtap/ringtap/perfevent"
)

// TestKnownMemory is the process that programs about memory watch: with pages it sends known pages
// to swap and gets them back, with reclaim it asks for more huge pages than the kernel has.
func TestKnownMemory(t *testing.T) {
	mode, ok := strings.CutPrefix(os.Getenv("SESSION_KNOWN"), "memory:")
	if !ok {
		t.Skip("this is a program of the live tests")
	}
	input := bufio.NewReader(os.Stdin)
	_, _ = input.ReadString('\n')
	switch mode {
	case "pages":
		page := os.Getpagesize()
		memory, err := unix.Mmap(-1, 0, known*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
		if err != nil {
			t.Fatal(err)
		}
		for i := range known {
			memory[i*page] = byte(i)
		}
		// A page that was written to swap a moment ago is still there, and comes back without it. The
		// next time it is clean, and goes at once.
		before := vmstat(t, "pswpin")
		for i := 0; i < 1000 && vmstat(t, "pswpin") < before+known; i++ {
			if err := unix.Madvise(memory, unix.MADV_PAGEOUT); err != nil {
				t.Fatal(err)
			}
			for i := range known {
				if memory[i*page] != byte(i) {
					t.Errorf("page %d is another one", i)
				}
			}
		}
	case "cache": // which a device's pages come into, and are found in
		readTwice(t, os.Getenv("SESSION_DEVICE"))
	case "reclaim":
		_ = os.WriteFile("/proc/sys/vm/nr_hugepages", []byte("10000"), 0)
		_ = os.WriteFile("/proc/sys/vm/nr_hugepages", []byte("0"), 0)
	}
	fmt.Println("done")
	_, _ = input.ReadString('\n')
}

// readTwice reads what the kernel has not in memory, and again.
func readTwice(t *testing.T, path string) {
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close() // whereupon the pages of a device go
	if err := unix.Fadvise(int(file.Fd()), 0, 0, unix.FADV_DONTNEED); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 10*4096)
	for range 2 {
		if _, err := file.Seek(0, io.SeekStart); err != nil {
			t.Fatal(err)
		}
		for n := 1; n > 0; {
			if n, err = unix.Read(int(file.Fd()), buf); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// vmstat returns the sum of the kernel's counters whose names begin with a prefix, and of others by
// name, which a kernel may lack. It skips the test on a kernel without the first.
func vmstat(t *testing.T, prefix string, others ...string) (sum int) {
	t.Helper()
	text, err := os.ReadFile("/proc/vmstat")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), "\n"+prefix) {
		t.Skip("CONFIG_VM_EVENT_COUNTERS")
	}
	for line := range strings.Lines(string(text)) {
		name, number, _ := strings.Cut(strings.TrimSpace(line), " ")
		if n, err := strconv.Atoi(number); err == nil && (strings.HasPrefix(name, prefix) || slices.Contains(others, name)) {
			sum += n
		}
	}
	return sum
}

// swap gives an emulated machine some swap.
func swap(t *testing.T) {
	t.Helper()
	const size = 8 << 20
	head := make([]byte, os.Getpagesize())
	binary.NativeEndian.PutUint32(head[1024:], 1) // version
	binary.NativeEndian.PutUint32(head[1028:], uint32(size/len(head)-1))
	copy(head[len(head)-10:], "SWAPSPACE2")
	path := filepath.Join(t.TempDir(), "swap")
	if err := os.WriteFile(path, head, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, size); err != nil {
		t.Fatal(err)
	}
	control, err := os.OpenFile("/dev/loop-control", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer control.Close()
	n, err := unix.IoctlRetInt(int(control.Fd()), unix.LOOP_CTL_GET_FREE)
	if err != nil {
		t.Fatal(err)
	}
	device, err := os.OpenFile(fmt.Sprintf("/dev/loop%d", n), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if err := unix.IoctlSetInt(int(device.Fd()), unix.LOOP_SET_FD, int(file.Fd())); err != nil {
		t.Fatal(err)
	}
	name, err := unix.BytePtrFromString(device.Name())
	if err != nil {
		t.Fatal(err)
	}
	if _, _, errno := unix.Syscall(unix.SYS_SWAPON, uintptr(unsafe.Pointer(name)), 0, 0); errno != 0 {
		t.Fatal(errno)
	}
	t.Cleanup(func() {
		_, _, _ = unix.Syscall(unix.SYS_SWAPOFF, uintptr(unsafe.Pointer(name)), 0, 0)
		_ = unix.IoctlSetInt(int(device.Fd()), unix.LOOP_CLR_FD, 0)
		device.Close()
	})
}

func TestLiveSwapinCountsThePagesThatComeBack(t *testing.T) {
	if !testlimit.Emulated() {
		t.Skip("it gives the machine swap, which only an emulated one may have")
	}
	for _, facility := range []string{"/dev/loop-control", "/proc/swaps"} {
		if _, err := os.Stat(facility); os.IsNotExist(err) {
			t.Skip("no swap on loop devices")
		}
	}
	swap(t)
	p := shippedNamed(t, "swapin")
	// Since Linux 6.12 the kernel counts pages of zeros apart, which are in no swap space.
	before := vmstat(t, "pswpin", "swpin_zero")
	out, pid := watched(t, knownIn("memory:pages"), Options{Text: p.Text, File: p.Name}, "COMM")
	came, sum := vmstat(t, "pswpin", "swpin_zero")-before, 0
	for _, line := range linesWith(out, fmt.Sprintf(" %d ", pid)) {
		n, _ := strconv.Atoi(line[strings.LastIndex(line, " ")+1:])
		sum += n
	}
	if sum < known || sum > came {
		t.Errorf("%d pages came back to the process, and the kernel counted %d, in\n%s", sum, came, out)
	}
}

func TestLiveCachestatTellsPagesThatAreThereFromThoseThatAreNot(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("root: tracepoints")
	}
	if _, err := os.Stat("/sys/kernel/tracing/events/filemap/mm_filemap_get_pages"); err != nil {
		needKprobes(t)
	}
	path, _ := loopdevice.New(t)
	cmd := knownIn("memory:cache")
	cmd.Env = append(cmd.Env, "SESSION_DEVICE="+path)
	p := shippedNamed(t, "cachestat")
	out, _ := watched(t, cmd, Options{Text: p.Text, File: p.Name, Named: map[string]string{"counters": "true"}, Target: &perfevent.Target{}}, " (")
	const pages = 1 << 20 / 4096 // of the device
	hits, misses := 0, 0
	for _, line := range linesWith(out, "(") {
		words := strings.Fields(line)
		n, _ := strconv.Atoi(words[0])
		hits += n
		n, _ = strconv.Atoi(words[1])
		misses += n
	}
	if hits != pages || misses != pages {
		t.Errorf("%d hits and %d misses, want %d of each, in\n%s", hits, misses, pages, out)
	}
}

func TestLiveDrsnoopShowsWhatTheKernelCounts(t *testing.T) {
	testlimit.Thorough(t) // it takes long to take all memory
	if !testlimit.Emulated() {
		t.Skip("it takes all memory, which only an emulated machine may lack")
	}
	if _, err := os.Stat("/proc/sys/vm/nr_hugepages"); os.IsNotExist(err) {
		t.Skip("no huge pages to ask for")
	}
	p := shippedNamed(t, "drsnoop")
	before := vmstat(t, "allocstall")
	out, pid := watched(t, knownIn("memory:reclaim"), Options{Text: p.Text, File: p.Name}, "")
	stalls := vmstat(t, "allocstall") - before
	if lines := linesWith(out, fmt.Sprintf("exe %d ", pid)); len(lines) == 0 || len(lines) > stalls {
		t.Errorf("%d direct reclaims, and the kernel counted %d, in\n%s", len(lines), stalls, out)
	}
}
