package near

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

	"github.com/ringtap/ringtap/internal/compiled"
	"github.com/ringtap/ringtap/internal/testlimit"
	"github.com/ringtap/ringtap/perfevent"
)

// stateVisitor keeps 64 bytes at the address that its configuration says.
type stateVisitor struct{ addr uint64 }

func newStateVisitor(config []byte) (Visitor, error) {
	addr, err := strconv.ParseUint(string(config), 16, 64)
	return stateVisitor{addr}, err
}

func (s stateVisitor) Visit(v *Visit) error {
	_, err := v.Load(s.addr, 64)
	return err
}

// ServeTests is Serve with the visitors of the tests and more. It is called by TestMain, which
// is with the example.
func ServeTests(more map[string]New) {
	visitors := map[string]New{
		"state": newStateVisitor,
		"hit":   func([]byte) (Visitor, error) { return hitVisitor{}, nil },
		"text":  newTextVisitor,
		"told":  newToldVisitor,
	}
	maps.Copy(visitors, more)
	Serve(visitors)
	if os.Getenv(callerVariable) != "" {
		beCaller()
	}
}

func needRoot(t testing.TB) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
}

// program compiles a source of testdata.
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

// started is a program of testdata that ends when its input does.
type started struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
	first string // line
	lines *bufio.Scanner
}

func startProgram(t testing.TB, name string, args ...string) *started {
	t.Helper()
	return startCommand(t, exec.Command(program(t, name), args...))
}

// startCommand starts a command that prints a line when it is ready.
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

// trapped opens, on each CPU, a clock that also traps its target, and the witness, and
// starts a reader of them: Start itself has no such events.
func trapped(t testing.TB, pid int, hz uint64, addr string, change func(*order)) (*Reader, []int) {
	t.Helper()
	return trap(t, pid, hz, addr, false, change)
}

// trap is trapped; beside has the clock in rings of its own, which are written over.
func trap(t testing.TB, pid int, hz uint64, addr string, beside bool, change func(*order)) (*Reader, []int) {
	t.Helper()
	cpus, err := perfevent.OnlineCPUs()
	if err != nil {
		t.Fatal(err)
	}
	clock := unix.PerfEventAttr{Type: unix.PERF_TYPE_SOFTWARE, Config: unix.PERF_COUNT_SW_CPU_CLOCK,
		Size: uint32(unsafe.Sizeof(unix.PerfEventAttr{})), Sample: uint64(time.Second) / hz, Wakeup: 1, Clockid: unix.CLOCK_MONOTONIC,
		Sample_type: unix.PERF_SAMPLE_IDENTIFIER | unix.PERF_SAMPLE_IP | unix.PERF_SAMPLE_TID | unix.PERF_SAMPLE_TIME |
			unix.PERF_SAMPLE_CPU | unix.PERF_SAMPLE_REGS_USER,
		Sample_regs_user: allRegisters, Bits: unix.PerfBitDisabled | unix.PerfBitUseClockID | unix.PerfBitSampleIDAll}
	out := clock
	out.Config, out.Sample, out.Wakeup = unix.PERF_COUNT_SW_CONTEXT_SWITCHES, 1, 1<<30
	out.Bits |= unix.PerfBitContextSwitch
	const sigtrap, removeOnExec = 1 << 37, 1 << 36
	clock.Bits |= sigtrap | removeOnExec
	o := order{Visitor: "state", Config: []byte(addr), Witness: 1, Highest: FIFO, Places: make([]place, 2),
		Events: []perfevent.EventAttr{{Attr: clock}, {Attr: out}}}
	var fds []int
	for _, cpu := range cpus {
		var pair [2]int
		for i := range pair {
			attr := o.Events[i].Attr
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
			o.Events[i].IDs = append(o.Events[i].IDs, id)
		}
		ring := func(fd, prot int) perfevent.RingFile {
			mem, err := unix.Mmap(fd, 0, os.Getpagesize()+ringBytes, prot, unix.MAP_SHARED)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { unix.Munmap(mem) })
			return perfevent.RingFile{CPU: cpu, FD: fd, Bytes: ringBytes}
		}
		if fds = append(fds, pair[:]...); beside {
			o.Beside = append(o.Beside, ring(pair[0], unix.PROT_READ))
			o.Rings = append(o.Rings, ring(pair[1], unix.PROT_READ|unix.PROT_WRITE))
			continue
		}
		o.Rings = append(o.Rings, ring(pair[0], unix.PROT_READ|unix.PROT_WRITE))
		if err := unix.IoctlSetInt(pair[1], unix.PERF_EVENT_IOC_SET_OUTPUT, pair[0]); err != nil {
			t.Fatal(err)
		}
	}
	if beside {
		o.Witness, o.Events, o.BesideEvents = 0, o.Events[1:], o.Events[:1]
	}
	o.bound(Options{Share: 0.5})
	if change != nil {
		change(&o)
	}
	r, err := start(o)
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

// readings reads n readings, and what comes meanwhile.
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

// readingsUntil reads until done is closed.
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

// tally is how readings compare with the truth.
type tally struct {
	all, exact, same, wrong int // wrong: exact, and not the truth
	reasons                 [reasons]int
}

// add counts a reading, which is the same as the truth or not.
func (c *tally) add(v Verdict, same bool) {
	c.all++
	c.reasons[v.Reason]++
	if same {
		c.same++
	}
	if v.Kind == Exact {
		c.exact++
		if !same {
			c.wrong++
		}
	}
}

func (c tally) String() string {
	s := fmt.Sprintf("%d readings, %d exact (%.2f %%), %d the same as the truth, %d accepted wrongly", c.all, c.exact, c.share(), c.same, c.wrong)
	for r := Reason(1); r < reasons; r++ {
		if c.reasons[r] > 0 {
			s += fmt.Sprintf("; %s: %d", r, c.reasons[r])
		}
	}
	return s
}

func (c tally) share() float64 { return 100 * float64(c.exact) / float64(max(1, c.all)) }

// steadily compares n readings of a busy program with what that noted itself.
func steadily(t testing.TB, hz uint64, n int, change func(*order)) (tally, []Account) {
	t.Helper()
	return steady(t, hz, n, false, change)
}

// steady is steadily, beside or not: see trap.
func steady(t testing.TB, hz uint64, n int, beside bool, change func(*order)) (tally, []Account) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "notes")
	s := startProgram(t, "steady", file)
	r, fds := trap(t, s.cmd.Process.Pid, hz, s.first, beside, change)
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
	var c tally
	var late []time.Duration
	next := 0
	for i, reading := range all {
		for next < noted && word(2+2*next) < reading.Time {
			next++
		}
		if next == noted || i+1 < len(all) && word(2+2*next) > all[i+1].Time {
			continue // the trap was joined with the next one
		}
		c.add(reading.Verdict, len(reading.Data) == 64 && binary.LittleEndian.Uint64(reading.Data) == word(3+2*next))
		late = append(late, reading.Verdict.Late)
	}
	slices.Sort(late)
	t.Logf("%d Hz: %s", hz, c)
	t.Logf("sample to end of read: p50 %v, p99 %v, worst %v", late[len(late)/2], late[len(late)*99/100], late[len(late)-1])
	var used, visiting, samples uint64
	for _, a := range r.Accounts() {
		used, visiting, samples = used+a.CPUTime, visiting+a.Visiting, samples+a.Samples
		t.Logf("CPU %d: %s, %+v", a.CPU, a.Rung, a.Counts)
	}
	t.Logf("CPU a sample: %v, of it in visits %v", time.Duration(used/samples), time.Duration(visiting/samples))
	return c, r.Accounts()
}

func TestLiveReadingsAreTheTruthOfTheSampledInstant(t *testing.T) {
	needRoot(t)
	for _, tt := range []struct {
		hz     uint64
		n      int
		beside bool
	}{{99, 100, false}, {999, 4000, false}, {99, 100, true}, {999, 4000, true}} {
		t.Run(fmt.Sprint(tt.hz, tt.beside), func(t *testing.T) {
			c, accounts := steady(t, tt.hz, testlimit.Calls(tt.n), tt.beside, nil)
			if c.wrong > c.all/10000 {
				t.Errorf("%d of %d were accepted wrongly", c.wrong, c.all)
			}
			if accounts[0].Rung == FIFO && c.exact == 0 {
				t.Error("none is exact")
			}
		})
	}
}

func TestLiveLowerRungsAreNotBelievedMore(t *testing.T) {
	needRoot(t)
	for _, rung := range []Rung{Nice, Pinned, Unpinned} {
		t.Run(rung.String(), func(t *testing.T) {
			c, accounts := steadily(t, 999, testlimit.Calls(1000), func(o *order) { o.Highest = rung })
			if c.wrong > c.all/10000 {
				t.Errorf("%d of %d were accepted wrongly", c.wrong, c.all)
			}
			for _, a := range accounts {
				if a.Rung != rung {
					t.Errorf("CPU %d: %s, want %s", a.CPU, a.Rung, rung)
				}
			}
		})
	}
}

func TestLiveAReaderOnAnotherCPUIsNotBelieved(t *testing.T) {
	needRoot(t)
	if cpus, err := perfevent.OnlineCPUs(); err != nil || len(cpus) < 2 {
		t.Skip("needs two CPUs")
	}
	c, _ := steadily(t, 999, testlimit.Calls(2000), func(o *order) { o.Elsewhere = true })
	if c.wrong > c.all/10000 {
		t.Errorf("%d of %d were accepted wrongly", c.wrong, c.all)
	}
	// Some are: where the target was preempted at the moment of the sample.
	if c.exact > c.all/2 {
		t.Errorf("%d of %d readings from another CPU are said to be exact", c.exact, c.all)
	}
}
