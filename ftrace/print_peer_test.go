package ftrace_test

import (
	"bufio"
	"context"
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/perfevent"
	"github.com/ringtap/ringtap/symbols"
)

// The kernel's own lines are the truth: the same events of the same program are
// recorded in a private tracefs instance, which prints them, and by perf, whose
// records we print.

// instance is a private tracefs instance, set so that its lines can be compared.
type instance struct {
	t   testing.TB
	dir string
}

func newInstance(t testing.TB) (*ftrace.FS, *instance) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("root: tracefs is readable by root only")
	}
	tracefs, _, err := ftrace.Mount()
	if err != nil {
		t.Fatal(err)
	}
	in := &instance{t, filepath.Join(tracefs.Dir(), "instances", fmt.Sprintf("ringtap_test_%d", os.Getpid()))}
	if err := os.Mkdir(in.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(in.remove)
	in.write("tracing_on", "0")
	in.write("trace_clock", "mono")
	in.write("buffer_size_kb", "32768")
	in.write("options/hash-ptr", "0") // %p is a secret hash otherwise
	in.write("options/event-fork", "1")
	return tracefs, in
}

func (in *instance) write(file, text string) {
	in.t.Helper()
	if err := os.WriteFile(filepath.Join(in.dir, file), []byte(text), 0); err != nil {
		in.t.Fatal(err)
	}
}

func (in *instance) remove() {
	os.WriteFile(filepath.Join(in.dir, "events/enable"), []byte("0"), 0)
	for try := 0; ; try++ {
		err := os.Remove(in.dir)
		if err == nil {
			return
		}
		if try == 50 {
			in.t.Errorf("the instance stays behind: %v", err)
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// lines returns the lines of the trace but for the header.
func (in *instance) lines() []string {
	in.t.Helper()
	file, err := os.Open(filepath.Join(in.dir, "trace"))
	if err != nil {
		in.t.Fatal(err)
	}
	defer file.Close()
	var lines []string
	scanner := bufio.NewScanner(file)
	scanner.Buffer(nil, 1<<20)
	for scanner.Scan() {
		if strings.HasPrefix(scanner.Text(), "CPU:") {
			in.t.Fatalf("the kernel lost events: %s", scanner.Text())
		}
		if !strings.HasPrefix(scanner.Text(), "#") {
			lines = append(lines, scanner.Text())
		}
	}
	if err := scanner.Err(); err != nil {
		in.t.Fatal(err)
	}
	return lines
}

// tracer prints perf's records of some events.
type tracer struct {
	formats  []*ftrace.Format
	printers []*ftrace.Printer
	events   []perfevent.Sampling
	comms    map[uint32]string
	lines    []string
}

func (tr *tracer) add(t testing.TB, tracefs *ftrace.FS, f *ftrace.Format, opts ftrace.PrintOptions) {
	p, err := f.Printer(opts)
	if err != nil {
		t.Fatal(err)
	}
	name := f.System + ":" + f.Name
	tr.formats, tr.printers = append(tr.formats, f), append(tr.printers, p)
	tr.events = append(tr.events, perfevent.Sampling{Event: perfevent.Tracepoint(uint64(f.ID), name), Period: 1, Raw: true})
}

func (tr *tracer) handle(record perfevent.Record) error {
	switch r := record.(type) {
	case *perfevent.Comm:
		tr.comms[r.TID] = string(r.Name)
	case *perfevent.Sample:
		f, p := tr.formats[r.Sampling], tr.printers[r.Sampling]
		line := ftrace.AppendLine(nil, []byte("comm"), int(r.TID), int(r.CPU), r.Time, r.Raw, f, p)
		tr.lines = append(tr.lines, string(line))
	}
	return nil
}

// run records the program's events in both ways.
func (tr *tracer) run(t testing.TB, in *instance, command *exec.Cmd) (kernel []string) {
	t.Helper()
	tr.comms = make(map[uint32]string)
	started, err := perfevent.StartCommand(command)
	if err != nil {
		t.Fatal(err)
	}
	in.write("set_event_pid", fmt.Sprint(started.PID()))
	session, err := perfevent.Open(perfevent.Started(started), tr.events, perfevent.Options{RingBytes: 16 << 20, Spool: 256 << 20})
	if err != nil {
		started.Kill()
		t.Fatal(err)
	}
	defer session.Close()
	in.write("tracing_on", "1")
	if err := session.Enable(); err != nil {
		t.Fatal(err)
	}
	if err := session.Read(context.Background(), tr.handle); err != nil {
		t.Fatal(err)
	}
	in.write("tracing_on", "0")
	if _, err := started.Wait(); err != nil {
		t.Fatal(err)
	}
	accounts, err := session.Accounts()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range accounts {
		if a.Lost != 0 {
			t.Fatalf("perf lost records: %+v", a)
		}
	}
	return in.lines()
}

func buildWorkload(t testing.TB) string {
	t.Helper()
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("gcc is not installed")
	}
	program := filepath.Join(t.TempDir(), "workload")
	if out, err := exec.Command("gcc", "-O1", "-no-pie", "-pthread", "-o", program, "testdata/workload.c").CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v\n%s", err, out)
	}
	return program
}

// kernelNames are the running kernel's symbols, strings and constants.
func kernelNames(t testing.TB, tracefs *ftrace.FS) ftrace.PrintOptions {
	t.Helper()
	file, err := os.Open("/proc/kallsyms")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	kallsyms, err := symbols.ReadKallsyms(file)
	if err != nil {
		t.Skip(err)
	}
	texts, err := tracefs.KernelStrings()
	if err != nil {
		t.Fatal(err)
	}
	btf, err := os.ReadFile("/sys/kernel/btf/vmlinux")
	if err != nil {
		t.Skip(err)
	}
	constants, err := ftrace.ReadConstants(btf)
	if err != nil || len(constants) < 1000 {
		t.Fatalf("%d constants, %v", len(constants), err)
	}
	return ftrace.PrintOptions{
		Constant: func(name string) (int64, bool) { v, ok := constants[name]; return v, ok },
		KernelSymbol: func(addr uint64) (name string, offset, size uint64, module string, ok bool) {
			s, ok := kallsyms.Lookup(addr)
			return s.Name, addr - s.Start, s.Size, s.Module, ok
		},
		KernelString: func(addr uint64) (string, bool) { text, ok := texts[addr]; return text, ok },
	}
}

// lineForm are the parts of a line: task, CPU and state, time, the rest.
var lineForm = regexp.MustCompile(`^ *(.{15,}?)-(\d+) +(\[\d+\] .....) +(\d+\.\d+): (.*)$`)

// compare finds for each line of the kernel's an equal one of ours, and reports
// what is left over, per event.
func compare(t *testing.T, kernel, ours []string) {
	t.Helper()
	count := make(map[string]int)
	for _, line := range kernel {
		count[comparable(line)]++
	}
	extra := make(map[string][]string)
	for _, line := range ours {
		line = comparable(line)
		if count[line]--; count[line] < 0 {
			extra[eventOf(line)] = append(extra[eventOf(line)], line)
		}
	}
	missing := make(map[string][]string)
	for line, n := range count {
		for ; n > 0; n-- {
			missing[eventOf(line)] = append(missing[eventOf(line)], line)
		}
	}
	for event, lines := range extra {
		slices.Sort(lines)
		slices.Sort(missing[event])
		t.Errorf("%s: %d lines differ, %d of the kernel's\n ours   %s\n kernel %s", event, len(lines), len(missing[event]),
			strings.Join(lines[:min(3, len(lines))], "\n        "), strings.Join(missing[event][:min(3, len(missing[event]))], "\n        "))
	}
	for event, lines := range missing {
		if extra[event] == nil {
			t.Logf("%s: %d lines more from the kernel, such as %s", event, len(lines), lines[0])
		}
	}
	t.Logf("%d lines of the kernel's, %d of ours", len(kernel), len(ours))
}

func comparable(line string) string {
	m := lineForm.FindStringSubmatch(line)
	if m == nil {
		return line
	}
	return m[2] + " " + m[3] + ": " + m[5]
}

func eventOf(line string) string {
	m := regexp.MustCompile(`: (\w+)`).FindStringSubmatch(line)
	if m == nil {
		return line
	}
	return m[1]
}

func TestPeerLinesEqualTheKernelsForTracepoints(t *testing.T) {
	program := buildWorkload(t)
	tracefs, in := newInstance(t)
	opts := kernelNames(t, tracefs)
	tr := &tracer{}
	for _, system := range strings.Fields(os.Getenv("SYSTEMS")) {
		paths, _ := filepath.Glob(filepath.Join(tracefs.Dir(), "events", system, "*", "format"))
		for _, path := range paths {
			f, err := tracefs.Format(system, filepath.Base(filepath.Dir(path)))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(filepath.Join(filepath.Dir(path), "enable")); err != nil {
				continue
			}
			tr.add(t, tracefs, f, opts)
			in.write("events/"+system+"/"+f.Name+"/enable", "1")
		}
	}
	command := exec.Command(program, "ffffffff81000000")
	command.Dir = t.TempDir()
	kernel := tr.run(t, in, command)
	compare(t, kernel, tr.lines)
}

var _ = elf.ET_EXEC
