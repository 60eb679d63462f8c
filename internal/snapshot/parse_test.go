package snapshot

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/testkit/fuzzing"
)

func TestASyscallFileTellsWhereAThreadWaits(t *testing.T) {
	for _, test := range []struct {
		text   string
		number int
		sp, pc uint64
	}{
		{"202 0x1 0x80 0x2 0x0 0x0 0x0 0x7ffd10 0x7f1020\n", 202, 0x7ffd10, 0x7f1020},
		{"-1 0x7ffd10 0x7f1020\n", -1, 0x7ffd10, 0x7f1020},
		{"running\n", -1, 0, 0},
		{"0 0x0 0x0 0x0 0x0 0x0 0x0 0x0 0x0\n", -1, 0, 0}, // a thread of the kernel
		{"", -1, 0, 0},
		{"202 0x1 0x80\n", -1, 0x1, 0x80}, // not what any kernel writes
		{"202 0x1 zz 0x2 0x0 0x0 0x0 0x7ffd10 0x7f1020\n", -1, 0, 0},
	} {
		thread := &Thread{number: -1}
		thread.parseCall(test.text)
		if thread.number != test.number || thread.sp != test.sp || thread.pc != test.pc {
			t.Errorf("%q: call %d at %#x with the stack at %#x", test.text, thread.number, thread.pc, thread.sp)
		}
	}
}

func TestASchedFileTellsWhenAThreadRan(t *testing.T) {
	text := []byte("sleep (1, #threads: 1)\n---\nse.exec_start   :   23148534.411908\nnr_switches    :    17\nse.vruntime : x\n")
	if ran, ok := schedValue(text, "se.exec_start"); !ok || ran/time.Microsecond != 23148534411 {
		t.Errorf("it ran at %v, %v", ran, ok)
	}
	if n, ok := schedCount(text, "nr_switches"); !ok || n != 17 {
		t.Errorf("%d switches, %v", n, ok)
	}
	for _, name := range []string{"se.vruntime", "nothing"} {
		if v, ok := schedValue(text, name); ok {
			t.Errorf("%s is %v", name, v)
		}
	}
}

func TestLocksAreReadWithThoseWhoWait(t *testing.T) {
	locks := parseLocks("1: POSIX  ADVISORY  WRITE 100 08:01:42 0 EOF\n1: -> POSIX  ADVISORY  WRITE 200 08:01:42 0 EOF\n2: FLOCK  ADVISORY  WRITE 300 08:01:43 0 EOF\n3: x\n")
	all := extent{"0", "EOF"}
	want := []fileLock{{"1:", "POSIX", false, 100, "08:01:42", all}, {"1:", "POSIX", true, 200, "08:01:42", all}, {"2:", "FLOCK", false, 300, "08:01:43", all}}
	if len(locks) != len(want) || locks[0] != want[0] || locks[1] != want[1] || locks[2] != want[2] {
		t.Errorf("%v, want %v", locks, want)
	}
}

func TestACallBeforeAReturnAddressIsKnown(t *testing.T) {
	arm := func(op uint32) (code [8]byte) {
		binary.LittleEndian.PutUint32(code[4:], op)
		return code
	}
	for _, test := range []struct {
		name       string
		arch       callchain.Arch
		code       [8]byte
		target     uint64
		direct, ok bool
	}{
		{"call rel32", callchain.AMD64, [8]byte{0x90, 0x90, 0x90, 0xe8, 0xf0, 0xff, 0xff, 0xff}, 0x1000 - 16, true, true},
		{"call *%rax", callchain.AMD64, [8]byte{0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0xff, 0xd0}, 0, false, true},
		{"call *8(%rax)", callchain.AMD64, [8]byte{0x90, 0x90, 0x90, 0x90, 0x90, 0xff, 0x50, 0x08}, 0, false, true},
		{"call *0(%rip)", callchain.AMD64, [8]byte{0x90, 0x90, 0xff, 0x15, 0, 0, 0, 0}, 0, false, true},
		{"jmp *%rax", callchain.AMD64, [8]byte{0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0xff, 0xe0}, 0, false, false},
		{"no call", callchain.AMD64, [8]byte{0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90}, 0, false, false},
		{"bl", callchain.ARM64, arm(0x97fffffc), 0x1000 - 4 - 16, true, true},
		{"blr x3", callchain.ARM64, arm(0xd63f0060), 0, false, true},
		{"ret", callchain.ARM64, arm(0xd65f03c0), 0, false, false},
	} {
		target, direct, ok := callTarget(test.arch, 0x1000, test.code)
		if target != test.target || direct != test.direct || ok != test.ok {
			t.Errorf("%s: %#x, direct %v, a call %v", test.name, target, direct, ok)
		}
	}
}

func TestTheNumberOfASystemCallIsReadFromTheCodeBeforeIt(t *testing.T) {
	arm := func(ops ...uint32) (code []byte) {
		for _, op := range append(slices.Repeat([]uint32{0xd503201f}, 8), ops...) {
			code = binary.LittleEndian.AppendUint32(code, op)
		}
		return code
	}
	const svc, bl, movX0 = 0xd4000001, 0x94000100, 0xd2800ca0
	for _, test := range []struct {
		name   string
		arch   callchain.Arch
		code   []byte
		number int
		ok     bool
	}{
		{"mov $0xca, %eax; syscall", callchain.AMD64, []byte{0x90, 0xb8, 0xca, 0, 0, 0, 0x0f, 0x05}, 0xca, true},
		{"mov %rdi, %rax; syscall", callchain.AMD64, []byte{0x90, 0x90, 0x90, 0x48, 0x89, 0xf8, 0x0f, 0x05}, 0, false},
		{"mov x8, 101; svc 0", callchain.ARM64, arm(0xd2800ca8, svc), 101, true},
		{"mov x8, 98; sxtw x1, w1; str wzr, [sp, 68]; mrs x3, tpidr_el0; svc 0", callchain.ARM64, arm(0xd2800c48, 0x93407c21, 0xb90047ff, 0xd53bd043, svc), 98, true},
		{"mov x0, 101; svc 0", callchain.ARM64, arm(movX0, svc), 0, false},
		{"mov x8, 101; bl; svc 0", callchain.ARM64, arm(0xd2800ca8, bl, svc), 0, false},
		{"mov x8, 101; mov x8, x1; svc 0", callchain.ARM64, arm(0xd2800ca8, 0xaa0103e8, svc), 0, false},
		{"mov x8, 101", callchain.ARM64, arm(0xd2800ca8), 0, false},
	} {
		if number, ok := calledNumber(test.arch, test.code); ok != test.ok || ok && number != test.number {
			t.Errorf("%s: %d, %v; want %d, %v", test.name, number, ok, test.number, test.ok)
		}
	}
}

func TestTheBytesThatALockIsForAreReadAsProcLocksHasThem(t *testing.T) {
	flock := func(whence uint16, start, n int64) (b [24]byte) {
		binary.NativeEndian.PutUint16(b[2:], whence)
		binary.NativeEndian.PutUint64(b[8:], uint64(start))
		binary.NativeEndian.PutUint64(b[16:], uint64(n))
		return b
	}
	for _, test := range []struct {
		flock [24]byte
		line  string // "" where that is not known
	}{
		{flock(0, 50, 10), "1: -> POSIX  ADVISORY  WRITE 200 08:01:42 50 59"},
		{flock(0, 0, 0), "1: -> POSIX  ADVISORY  WRITE 200 08:01:42 0 EOF"},
		{flock(1, 50, 10), ""},
		{flock(0, 50, -10), ""},
	} {
		asked, known := parseExtent(test.flock)
		if known != (test.line != "") || known && parseLocks(test.line)[0].extent != asked {
			t.Errorf("%v, %v; want that of %q", asked, known, test.line)
		}
	}
}

// Whatever proc(5) says, reading it ends.
func FuzzProcFiles(f *testing.F) {
	fuzzing.Bound(f)
	f.Add([]byte("202 0x1 0x80 0x2 0x0 0x0 0x0 0x7ffd10 0x7f1020"), []byte("se.exec_start : 1.5\nnr_switches : 3"), []byte("1: -> POSIX  ADVISORY  WRITE 200 08:01:42 0 EOF"))
	f.Fuzz(func(t *testing.T, call, sched, locks []byte) {
		thread := &Thread{number: -1}
		thread.parseCall(string(call))
		schedValue(sched, "se.exec_start")
		schedCount(sched, "nr_switches")
		for _, l := range parseLocks(string(locks)) {
			if l.id == "" || l.kind == "" {
				t.Errorf("%+v", l)
			}
		}
	})
}

func ExampleTaker_Take() {
	taker := New(Options{})
	defer taker.Close()
	s, err := taker.Take(context.Background(), os.Getpid())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(s.PID == os.Getpid(), len(s.Threads) > 0, len(s.Goroutines) > 0)
	// Output: true true true
}

// Numbers of processes begin again at their end.
func TestAnInheritedFileIsThatOfTheProcessThatOpenedIt(t *testing.T) {
	parents := map[int]int{300: 32700, 310: 300, 32700: 1, 400: 2}
	for _, test := range []struct {
		have []int
		want int
	}{{nil, 0}, {[]int{310}, 310}, {[]int{300, 310, 32700}, 32700}, {[]int{300, 310}, 300}, {[]int{310, 400}, 310}} {
		if got := outermost(test.have, func(pid int) int { return parents[pid] }); got != test.want {
			t.Errorf("of %v: %d, want %d", test.have, got, test.want)
		}
	}
}
