package printfmt_test

import (
	"bufio"
	"context"
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/ftrace/printfmt"
	"github.com/ringtap/ringtap/internal/testkit/testlimit"
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
	for end := time.Now().Add(testlimit.End); ; time.Sleep(100 * time.Millisecond) {
		err := os.Remove(in.dir)
		if err == nil {
			return
		}
		if time.Now().After(end) {
			in.t.Errorf("the instance stays behind: %v", err)
			return
		}
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
			lines = append(lines, escapeLine(scanner.Text()))
		}
	}
	if err := scanner.Err(); err != nil {
		in.t.Fatal(err)
	}
	return lines
}

// escapeLine does to a line of the kernel's what we do to the strings in ours. Go's
// own quoting knows what can be printed; some control characters it has letters
// for.
func escapeLine(line string) string {
	var b strings.Builder
	for len(line) > 0 {
		r, size := utf8.DecodeRuneInString(line)
		quoted := strconv.Quote(line[:size])
		switch {
		case strconv.IsPrint(r) && (r != utf8.RuneError || size > 1):
			b.WriteString(line[:size])
		case strings.ContainsRune("\a\b\f\v", r):
			fmt.Fprintf(&b, `\x%02x`, r)
		default:
			b.WriteString(quoted[1 : len(quoted)-1])
		}
		line = line[size:]
	}
	return b.String()
}

// tracer prints perf's records of some events.
type tracer struct {
	formats  []*ftrace.Format
	printers []*printfmt.Printer
	events   []perfevent.Sampling
	comms    map[uint32]string
	lines    []string
}

func (tr *tracer) add(t testing.TB, f *ftrace.Format, opts printfmt.Options) {
	p, err := printfmt.New(f, opts)
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
		line := printfmt.AppendLine(nil, []byte("comm"), int(r.TID), int(r.CPU), r.Time, r.Raw, f, p)
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
	session, err := perfevent.Open(perfevent.Started(started), tr.events, perfevent.Options{RingBytes: 16 << 20})
	if err != nil {
		started.Kill()
		t.Fatal(err)
	}
	defer session.Close()
	in.write("tracing_on", "1")
	if err := session.Enable(); err != nil {
		t.Fatal(err)
	}
	reader := perfevent.Reader{Spool: 256 << 20}
	if err := reader.Read(context.Background(), session, tr.handle); err != nil {
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
func kernelNames(t testing.TB, tracefs *ftrace.FS) printfmt.Options {
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
	constants, err := printfmt.ReadConstants(btf)
	if err != nil || len(constants) < 1000 {
		t.Fatalf("%d constants, %v", len(constants), err)
	}
	return printfmt.Options{
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
// what is left over, per event. Lines that are equal but for the mark of a
// wanted rescheduling are equal: that may be wished for between the moments in
// which the two tracers look.
func compare(t *testing.T, kernel, ours []string) {
	t.Helper()
	missing, extra := unmatched(kernel, ours, comparable)
	marked := len(extra)
	missing, extra = unmatched(missing, extra, func(line string) string {
		return borrowed.ReplaceAllString(anyMark.ReplaceAllString(line, "$1."), "$1...ff")
	})
	byEvent := make(map[string][]string)
	for _, line := range missing {
		byEvent[eventOf(line)] = append(byEvent[eventOf(line)], line)
	}
	for i, line := range extra {
		if i == 20 {
			t.Errorf("and %d lines more", len(extra)-i)
			break
		}
		near := byEvent[eventOf(line)]
		t.Errorf("ours, not the kernel's: %s\nof the kernel's, not ours: %s", line, strings.Join(near[:min(3, len(near))], "\n                           "))
	}
	t.Logf("%d lines of the kernel's, %d of ours, of which %d differ in the mark only", len(kernel), len(ours), marked-len(extra))
	if len(ours) < 20 {
		t.Errorf("too few lines to compare")
	}
}

// unmatched returns the lines of either side without an equal one on the other.
func unmatched(kernel, ours []string, form func(string) string) (missing, extra []string) {
	count := make(map[string]int)
	for _, line := range kernel {
		count[form(line)]++
	}
	for _, line := range ours {
		if line = form(line); count[line] > 0 {
			count[line]--
		} else {
			extra = append(extra, line)
		}
	}
	for line, n := range count {
		missing = append(missing, slices.Repeat([]string{line}, n)...)
	}
	slices.Sort(missing)
	return missing, extra
}

// anyMark is what says in a comparable line whether the task wants to be
// rescheduled, the second of its flags.
var anyMark = regexp.MustCompile(`^(\d+ \[\d+\] .)[.nNlLpbB]`)

// borrowed are the flags of a user probe's line, of which the kernel takes one
// level of preemption that is not there: what it borrows comes from the mark, and
// changes the others with it.
var borrowed = regexp.MustCompile(`^(\d+ \[\d+\] )...ff`)

// comparable is a line without its time and its task's name, which the kernel
// looks up when it prints, and without what else it has from elsewhere.
func comparable(line string) string {
	m := lineForm.FindStringSubmatch(line)
	if m == nil {
		return line
	}
	rest := strings.ReplaceAll(m[5], "\t", `\t`) // some print formats have tabs of their own
	for _, o := range otherwise {
		rest = o.pattern.ReplaceAllString(rest, "")
	}
	return m[2] + " " + m[3] + ": " + rest
}

func eventOf(line string) string {
	m := regexp.MustCompile(`: (\w+)`).FindStringSubmatch(line)
	if m == nil {
		return line
	}
	return m[1]
}

// systems are those whose events the workload may cause.
var systems = strings.Fields(`alarmtimer block cgroup compaction context_tracking exceptions ext4 fib fib6 filelock
	filemap hrtimer huge_memory ipi irq irq_vectors jbd2 kmem lock maple_tree migrate mmap mmap_lock napi neigh net
	notifier oom page_pool pagemap percpu power qdisc raw_syscalls rcu readahead sched signal skb sock syscalls task
	tcp timer tlb udp vmalloc vmscan wbt workqueue writeback x86_fpu`)

// firing tells which events of those systems the workload causes: perf opens and
// closes no more than ten events a second.
func (in *instance) firing(t *testing.T, tracefs *ftrace.FS, command *exec.Cmd) []ftrace.EventName {
	for _, system := range systems {
		if _, err := os.Stat(filepath.Join(in.dir, "events", system)); err == nil {
			in.write("events/"+system+"/enable", "1")
		}
	}
	started, err := perfevent.StartCommand(command)
	if err != nil {
		t.Fatal(err)
	}
	in.write("set_event_pid", fmt.Sprint(started.PID()))
	session, err := perfevent.Open(perfevent.Started(started), nil, perfevent.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	in.write("tracing_on", "1")
	if err := session.Enable(); err != nil {
		t.Fatal(err)
	}
	if _, err := started.Wait(); err != nil {
		t.Fatal(err)
	}
	in.write("tracing_on", "0")
	in.write("events/enable", "0")
	found := make(map[string]bool)
	for _, line := range in.lines() {
		if m := lineForm.FindStringSubmatch(line); m != nil {
			name, _, _ := strings.Cut(m[5], ":")
			if call, _, ok := strings.Cut(m[5], "("); ok && strings.HasPrefix(call, "sys_") {
				name = "sys_enter_" + call[len("sys_"):]
			} else if call, _, ok := strings.Cut(m[5], " -> "); ok && strings.HasPrefix(call, "sys_") {
				name = "sys_exit_" + call[len("sys_"):]
			}
			found[name] = true
		}
	}
	in.write("trace", "")
	events, err := tracefs.Events()
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(events, func(e ftrace.EventName) bool {
		return !found[e.Name] || !slices.Contains(systems, e.System) || notSampled[e.Name] != ""
	})
}

// notSampled are the events that perf does not sample, and why. Whether the workload
// causes them depends on what else the machine does.
var notSampled = map[string]string{
	"irq_work_exit": "a sample may cause the next (arch/x86/include/asm/trace/irq_vectors.h)",
}

// otherwise are the parts of lines that the kernel prints from other data than
// the record, or from memory of the record that it never wrote.
var otherwise = []struct {
	pattern *regexp.Regexp
	why     string
}{
	{regexp.MustCompile(` page=\S+`), "calculated from the random place of the array of pages"},
	{regexp.MustCompile(` age=\S+`), "calculated from the time when the line is printed"},
	{regexp.MustCompile(` gw \S+`), "fib_table_lookup leaves gw6 unwritten for addresses of IPv4"},
}

func TestPeerLinesEqualTheKernelsForTracepoints(t *testing.T) {
	program := buildWorkload(t)
	tracefs, in := newInstance(t)
	opts := kernelNames(t, tracefs)
	workload := func() *exec.Cmd {
		command := exec.Command(program, "ffffffff81000000")
		command.Dir = t.TempDir()
		return command
	}
	tr := &tracer{}
	for _, e := range in.firing(t, tracefs, workload()) {
		f, err := tracefs.Format(e.System, e.Name)
		if err != nil {
			t.Fatal(err)
		}
		tr.add(t, f, opts)
		in.write("events/"+e.System+"/"+e.Name+"/enable", "1")
	}
	if len(tr.events) < 50 {
		t.Fatalf("the workload causes %d events only", len(tr.events))
	}
	kernel := tr.run(t, in, workload())
	compare(t, kernel, tr.lines)
	t.Logf("%d events", len(tr.events))
}

// fetches are arguments of every type, for the workload's functions.
var fetches = []struct{ function, args string }{
	{"integers", "%di u8=%di:u8 u16=%di:u16 u32=%di:u32 u64=%di:u64 s8=%di:s8 s16=%di:s16 s32=%di:s32 s64=%di:s64 " +
		"x8=%di:x8 x16=%di:x16 x32=%di:x32 x64=%di:x64 c=%di:char " +
		"b=%di:b3@2/8 b16=%di:b5@7/16 b32=%di:b1@31/32 b64=%di:b30@30/64 comm=$comm imm=\\-3:s32 text=\\\"imm\""},
	{"strings", "s=+0(%di):string u=+u0(%di):ustring +0(%di):x8 list=+0(%si):string[2] comm=$comm"},
	{"arrays", "u8=+0(%di):u8[5] s8=+0(%di):s8[3] x16=+0(%di):x16[4] u32=+0(%di):u32[2] s32=+8(%di):s32[2] " +
		"x64=+0(%di):x64[2] c=+0(%di):char[6] s64=+8(%di):s64[1] stack=$stack0"},
	{"symbol", "value=%di stack=$stack"},
}

func TestPeerLinesEqualTheKernelsForUserProbes(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("the names of registers are those of amd64")
	}
	program := buildWorkload(t)
	tracefs, in := newInstance(t)
	opts := kernelNames(t, tracefs)
	// The kernel gives an event of a user probe to perf or to ftrace, never to
	// both (probe_event_enable): each has its own at the same places.
	group := fmt.Sprintf("ringtap_test_%d", os.Getpid())
	tr := &tracer{}
	for _, group := range []string{group, group + "_perf"} {
		for _, fetch := range fetches {
			place := fmt.Sprintf("%s:0x%x", program, offsetOf(t, program, fetch.function))
			define(t, tracefs, group, "p", fetch.function, place+" "+fetch.args)
			define(t, tracefs, group, "r", fetch.function+"_ret", place+" $retval x=$retval:x32 comm=$comm")
			define(t, tracefs, group, "p", fetch.function+"_bare", place)
		}
		define(t, tracefs, group, "r", "strings_text", fmt.Sprintf("%s:0x%x +0($retval):string", program, offsetOf(t, program, "strings")))
	}
	paths, err := filepath.Glob(filepath.Join(tracefs.Dir(), "events", group+"_perf", "*", "format"))
	if err != nil || len(paths) != 3*len(fetches)+1 {
		t.Fatal(paths, err)
	}
	for _, path := range paths {
		f, err := tracefs.Format(group+"_perf", filepath.Base(filepath.Dir(path)))
		if err != nil {
			t.Fatal(err)
		}
		tr.add(t, f, opts)
	}
	in.write("events/"+group+"/enable", "1")
	t.Cleanup(func() { in.write("events/enable", "0") }) // before the probes can go
	command := exec.Command(program, fmt.Sprintf("%x", kernelAddress(t)))
	command.Dir = t.TempDir()
	compare(t, tr.run(t, in, command), tr.lines)
	for _, f := range tr.formats {
		if !slices.ContainsFunc(tr.lines, func(line string) bool { return strings.Contains(line, " "+f.Name+": ") }) {
			t.Errorf("no hit of %s", f.Name)
		}
	}
}

// define makes a probe that goes with the test.
func define(t *testing.T, tracefs *ftrace.FS, group, kind, event, rest string) {
	t.Helper()
	write := func(line string) error {
		file, err := os.OpenFile(filepath.Join(tracefs.Dir(), "uprobe_events"), os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			return err
		}
		defer file.Close()
		_, err = file.WriteString(line + "\n")
		return err
	}
	if err := write(kind + ":" + group + "/" + event + " " + rest); err != nil {
		t.Fatalf("%s %s: %v", event, rest, err)
	}
	t.Cleanup(func() {
		if err := write("-:" + group + "/" + event); err != nil {
			t.Errorf("%s stays behind: %v", event, err)
		}
	})
}

// offsetOf is where in the file a function starts.
func offsetOf(t *testing.T, program, function string) uint64 {
	t.Helper()
	file, err := elf.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	list, err := file.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range list {
		for _, p := range file.Progs {
			if s.Name == function && p.Type == elf.PT_LOAD && p.Vaddr <= s.Value && s.Value < p.Vaddr+p.Filesz {
				return s.Value - p.Vaddr + p.Off
			}
		}
	}
	t.Fatalf("%s has no function %s", program, function)
	return 0
}

// kernelAddress is the address of some function of the kernel's.
func kernelAddress(t *testing.T) uint64 {
	t.Helper()
	text, err := os.ReadFile("/proc/kallsyms")
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`(?m)^([0-9a-f]+) T do_exit$`).FindSubmatch(text)
	if m == nil {
		t.Skip("do_exit is not in kallsyms")
	}
	addr, err := strconv.ParseUint(string(m[1]), 16, 64)
	if err != nil {
		t.Fatal(err)
	}
	return addr
}
