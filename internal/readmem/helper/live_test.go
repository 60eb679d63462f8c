package helper

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/testkit/compiled"
	"github.com/ringtap/ringtap/internal/testkit/testlimit"
	"github.com/ringtap/ringtap/perfevent"
)

// stateVisitor keeps 64 bytes at the address that its configuration has in hexadecimal.
type stateVisitor struct{ addr uint64 }

func newStateVisitor(config []byte) (Visitor, error) {
	addr, err := strconv.ParseUint(string(config), 16, 64)
	return stateVisitor{addr}, err
}

func (s stateVisitor) Visit(v *Visit) error {
	_, err := v.Load(s.addr, 64)
	return err
}

// ServeTests is Serve with the visitors of these tests and more. TestMain calls it, which is in
// example_test.go.
func ServeTests(more map[string]NewVisitor) {
	visitors := map[string]NewVisitor{
		"state":  newStateVisitor,
		"hit":    func([]byte) (Visitor, error) { return hitVisitor{}, nil },
		"text":   newTextVisitor,
		"memory": newMemoryVisitor,
	}
	maps.Copy(visitors, more)
	Serve(visitors)
	if os.Getenv(callerEnv) != "" {
		runCaller()
	}
}

func needRoot(t testing.TB) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
}

// program compiles testdata/NAME.c and returns the path of the program.
func program(t testing.TB, name string) string {
	t.Helper()
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("no gcc to build the fixture program")
	}
	text, err := os.ReadFile("testdata/" + name + ".c")
	if err != nil {
		t.Fatal(err)
	}
	r := compiled.Recipe{Sources: map[string]string{name + ".c": string(text)},
		Commands: [][]string{{"gcc", "-O1", "-pthread", "-o", name, name + ".c"}}}
	return filepath.Join(r.Dir(t), name)
}

// started is a program that is running. It ends when its standard input is closed.
type started struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
	first string         // its first line of output
	lines *bufio.Scanner // the rest of its output
}

func startProgram(t testing.TB, name string, args ...string) *started {
	t.Helper()
	return startCommand(t, exec.Command(program(t, name), args...))
}

// startCommand starts a command and waits for its first line of output. The command ends with the
// test.
func startCommand(t testing.TB, cmd *exec.Cmd) *started {
	t.Helper()
	s := &started{cmd: cmd}
	s.cmd.Stderr = os.Stderr
	stdout, err := s.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if s.stdin, err = s.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	testlimit.Limit(t, s.cmd)
	t.Cleanup(s.end)
	s.lines = bufio.NewScanner(stdout)
	s.lines.Scan()
	s.first = s.lines.Text()
	return s
}

func (s *started) end() {
	s.stdin.Close()
	_ = s.cmd.Wait()
}

// startTrapped starts a reader of a process, which is sampled at hz by a clock on each CPU. Each
// sample also sends the process a SIGTRAP, which Start does not offer. If follow is set, the clock
// has rings of its own, as with FollowSession, and the kernel overwrites them. change, if not nil,
// may change the child's setup. startTrapped also returns the events' descriptors.
func startTrapped(t testing.TB, pid int, hz uint64, addr string, follow bool, change func(*childSetup)) (*Reader, []int) {
	t.Helper()
	cpus, err := perfevent.OnlineCPUs()
	if err != nil {
		t.Fatal(err)
	}
	clock := unix.PerfEventAttr{Type: unix.PERF_TYPE_SOFTWARE, Config: unix.PERF_COUNT_SW_CPU_CLOCK,
		Size: uint32(unsafe.Sizeof(unix.PerfEventAttr{})), Sample: uint64(time.Second) / hz, Wakeup: 1, Clockid: unix.CLOCK_MONOTONIC,
		Sample_type: unix.PERF_SAMPLE_IDENTIFIER | unix.PERF_SAMPLE_IP | unix.PERF_SAMPLE_TID | unix.PERF_SAMPLE_TIME |
			unix.PERF_SAMPLE_CPU | unix.PERF_SAMPLE_REGS_USER,
		Sample_regs_user: Registers, Bits: unix.PerfBitDisabled | unix.PerfBitUseClockID | unix.PerfBitSampleIDAll}
	switches := clock
	switches.Config, switches.Sample, switches.Wakeup = unix.PERF_COUNT_SW_CONTEXT_SWITCHES, 1, 1<<30
	switches.Bits |= unix.PerfBitContextSwitch
	const sigtrap, removeOnExec = 1 << 37, 1 << 36
	clock.Bits |= sigtrap | removeOnExec
	setup := childSetup{Visitor: "state", Config: []byte(addr), SwitchSampling: 1, MaxClass: FIFO, Contexts: make([]sampleContext, 2),
		Events: []perfevent.EventAttr{{Attr: clock}, {Attr: switches}}}
	var fds []int
	for _, cpu := range cpus {
		var pair [2]int
		for i := range pair {
			attr := setup.Events[i].Attr
			pair[i], err = unix.PerfEventOpen(&attr, pid, cpu, -1, unix.PERF_FLAG_FD_CLOEXEC)
			switch {
			case i == 0 && err == unix.EINVAL:
				t.Skip("Linux before 5.13 sends no signal at each sample")
			case err != nil:
				t.Fatal(err)
			}
			t.Cleanup(func() { unix.Close(pair[i]) })
			var id uint64
			if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(pair[i]), unix.PERF_EVENT_IOC_ID, uintptr(unsafe.Pointer(&id))); errno != 0 {
				t.Fatal(errno)
			}
			setup.Events[i].IDs = append(setup.Events[i].IDs, id)
		}
		ring := func(fd, prot int) perfevent.RingFile {
			mem, err := unix.Mmap(fd, 0, os.Getpagesize()+ringBytes, prot, unix.MAP_SHARED)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { unix.Munmap(mem) })
			return perfevent.RingFile{CPU: cpu, FD: fd, Bytes: ringBytes}
		}
		if fds = append(fds, pair[:]...); follow {
			setup.SessionRings = append(setup.SessionRings, ring(pair[0], unix.PROT_READ))
			setup.Rings = append(setup.Rings, ring(pair[1], unix.PROT_READ|unix.PROT_WRITE))
			continue
		}
		setup.Rings = append(setup.Rings, ring(pair[0], unix.PROT_READ|unix.PROT_WRITE))
		if err := unix.IoctlSetInt(pair[1], unix.PERF_EVENT_IOC_SET_OUTPUT, pair[0]); err != nil {
			t.Fatal(err)
		}
	}
	if follow {
		setup.SwitchSampling, setup.Events, setup.SessionEvents = 0, setup.Events[1:], setup.Events[:1]
	}
	setup.setLimits(Options{Share: 0.5})
	if change != nil {
		change(&setup)
	}
	r, err := start(setup)
	if err != nil {
		t.Fatal(err)
	}
	for _, fd := range fds {
		if err := unix.IoctlSetInt(fd, unix.PERF_EVENT_IOC_ENABLE, 0); err != nil {
			t.Fatal(err)
		}
	}
	return r, fds
}

// readings reads at least n readings.
func readings(t testing.TB, r *Reader, n int) []*Reading {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), testlimit.End)
	defer cancel()
	var all []*Reading
	err := r.Read(ctx, func(reading *Reading) error {
		if all = append(all, reading); len(all) == n {
			cancel()
		}
		return nil
	})
	if err != nil || len(all) < n {
		t.Fatalf("%d readings of %d, %v", len(all), n, err)
	}
	return all
}

// readingsUntil returns all readings until done is closed.
func readingsUntil(t testing.TB, r *Reader, done <-chan struct{}) []*Reading {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), testlimit.End)
	defer cancel()
	go func() {
		<-done
		cancel()
	}()
	var all []*Reading
	err := r.Read(ctx, func(reading *Reading) error {
		all = append(all, reading)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// accuracy counts how readings compare with what was in memory at the sample, the truth.
type accuracy struct {
	all, exact, same, wronglyExact int // wronglyExact: exact, but not the truth
	reasons                        [numReasons]int
}

// add counts a reading. same says whether it is the truth.
func (c *accuracy) add(r *Reading, same bool) {
	c.all++
	c.reasons[r.Reason]++
	if same {
		c.same++
	}
	if r.Certainty == Exact {
		c.exact++
		if !same {
			c.wronglyExact++
		}
	}
}

func (c accuracy) String() string {
	s := fmt.Sprintf("%d readings, %d exact (%.2f %%), %d the same as the truth, %d exact but wrong", c.all, c.exact, c.share(), c.same, c.wronglyExact)
	for r := Reason(1); r < numReasons; r++ {
		if c.reasons[r] > 0 {
			s += fmt.Sprintf("; %s: %d", r, c.reasons[r])
		}
	}
	return s
}

func (c accuracy) share() float64 { return 100 * float64(c.exact) / float64(max(1, c.all)) }

// checkSteady compares n readings of testdata/steady.c with what the program itself noted at each
// sample. For the arguments see startTrapped.
func checkSteady(t testing.TB, hz uint64, n int, follow bool, change func(*childSetup)) (accuracy, []Account) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "notes")
	s := startProgram(t, "steady", file)
	r, fds := startTrapped(t, s.cmd.Process.Pid, hz, s.first, follow, change)
	all := readings(t, r, n)
	for _, fd := range fds {
		_ = unix.IoctlSetInt(fd, unix.PERF_EVENT_IOC_DISABLE, 0)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	s.end()
	notes, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	word := func(i int) uint64 { return binary.LittleEndian.Uint64(notes[8*i:]) }
	noted := int(word(0))
	var c accuracy
	var late []time.Duration
	next := 0
	for i, reading := range all {
		for next < noted && word(2+2*next) < reading.Time {
			next++
		}
		if next == noted || i+1 < len(all) && word(2+2*next) > all[i+1].Time {
			continue // the kernel merged this signal with the next one
		}
		c.add(reading, len(reading.Data) == 64 && binary.LittleEndian.Uint64(reading.Data) == word(3+2*next))
		late = append(late, reading.Late)
	}
	slices.Sort(late)
	t.Logf("%d Hz: %s", hz, c)
	t.Logf("sample to end of read: p50 %v, p99 %v, worst %v", late[len(late)/2], late[len(late)*99/100], late[len(late)-1])
	var used, visiting, samples uint64
	for _, a := range r.Accounts() {
		used, visiting, samples = used+a.CPUTime, visiting+a.visitTime, samples+a.samples
		t.Logf("CPU %d: %s, %+v", a.cpu, a.SchedClass, a.Counts)
	}
	t.Logf("CPU a sample: %v, of it in visits %v", time.Duration(used/samples), time.Duration(visiting/samples))
	return c, r.Accounts()
}

func TestLiveExactReadingsAreWhatMemoryWasAtTheSample(t *testing.T) {
	needRoot(t)
	for _, tt := range []struct {
		hz     uint64
		n      int
		follow bool
	}{{99, 100, false}, {999, 4000, false}, {99, 100, true}, {999, 4000, true}} {
		t.Run(fmt.Sprint(tt.hz, tt.follow), func(t *testing.T) {
			c, accounts := checkSteady(t, tt.hz, testlimit.Calls(tt.n), tt.follow, nil)
			if c.wronglyExact > c.all/10000 {
				t.Errorf("%d of %d readings are exact but wrong", c.wronglyExact, c.all)
			}
			if accounts[0].SchedClass == FIFO && c.exact == 0 {
				t.Error("none is exact")
			}
		})
	}
}

func TestLiveExactReadingsAreRightInLowerSchedClasses(t *testing.T) {
	needRoot(t)
	for _, class := range []SchedClass{Nice, Pinned, Unpinned} {
		t.Run(class.String(), func(t *testing.T) {
			c, accounts := checkSteady(t, 999, testlimit.Calls(1000), false, func(setup *childSetup) { setup.MaxClass = class })
			if c.wronglyExact > c.all/10000 {
				t.Errorf("%d of %d readings are exact but wrong", c.wronglyExact, c.all)
			}
			for _, a := range accounts {
				if a.SchedClass != class {
					t.Errorf("CPU %d: %s, want %s", a.cpu, a.SchedClass, class)
				}
			}
		})
	}
}

func TestLiveFewReadingsFromAnotherCPUAreExact(t *testing.T) {
	needRoot(t)
	if cpus, err := perfevent.OnlineCPUs(); err != nil || len(cpus) < 2 {
		t.Skip("needs two CPUs")
	}
	c, _ := checkSteady(t, 999, testlimit.Calls(2000), false, func(setup *childSetup) { setup.WrongCPU = true })
	if c.wronglyExact > c.all/10000 {
		t.Errorf("%d of %d readings are exact but wrong", c.wronglyExact, c.all)
	}
	// Some are exact: those of samples at which the target was preempted.
	if c.exact > c.all/2 {
		t.Errorf("%d of %d readings from another CPU are exact", c.exact, c.all)
	}
}
