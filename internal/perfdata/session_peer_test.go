package perfdata

import (
	"bufio"
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/testkit/compiled"
	"github.com/ringtap/ringtap/internal/testkit/perfrecord"
	"github.com/ringtap/ringtap/perfevent"
)

// spinner spends its time in one function.
const spinner = `
static volatile unsigned long n;
__attribute__((noinline)) void spin_here(void) { for (unsigned long i = 0; i < 300000000; i++) n += i; }
int main(void) { spin_here(); return 0; }
`

// contextUser is PERF_CONTEXT_USER, which precedes the user's part of a callchain.
const contextUser = ^uint64(511)

func TestPeerPerfNamesTheSamplesOfASession(t *testing.T) {
	perfrecord.Need(t)
	t.Setenv("HOME", t.TempDir())
	program := compiled.Program(t, map[string]string{"spinner.c": spinner}, "gcc", "-O1", "-o", "spinner", "spinner.c")
	plain := perfevent.Sampling{Event: perfevent.CPUClock(), Frequency: 499}
	stacks := plain
	stacks.UserRegs, stacks.UserStack = 1<<8, 1024 // regs: the instruction pointer
	for _, tt := range []struct {
		name     string
		sampling perfevent.Sampling
		rewrite  func(*perfevent.Sample)
		frames   int // of a sample
	}{
		{"as the kernel wrote them", plain, nil, 1},
		{"callchains in place of stacks", stacks, func(s *perfevent.Sample) {
			s.Callchain, s.Regs, s.Stack = []uint64{contextUser, s.IP, s.IP}, perfevent.Registers{}, nil
		}, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "perf.data")
			all, spinning := recordSession(t, path, program, tt.sampling, tt.rewrite)
			out := perfrecord.Quietly(t, "script", "-F", "comm,pid,event,ip,sym,symoff", "-i", path)
			if got := strings.Count(out, " cpu-clock"); got != all {
				t.Errorf("perf script has %d samples of %d", got, all)
			}
			if got := strings.Count(out, "spinner "); got != all {
				t.Errorf("perf script knows the process of %d samples of %d", got, all)
			}
			if got := strings.Count(out, " spin_here+0x"); got != spinning*tt.frames || spinning == 0 {
				t.Errorf("%d frames are in spin_here, of %d samples with %d each:\n%.2000s", got, spinning, tt.frames, out)
			}
			perfrecord.Quietly(t, "report", "--stats", "-i", path)
			perfrecord.Quietly(t, "report", "--stdio", "-i", path)
			sampleLines(t, path)
		})
	}
}

// recordSession records a program, as a recorder would, and returns how many samples there are, and
// how many of them in spin_here. rewrite, if not nil, changes each sample to one with a callchain in
// place of registers and stack.
func recordSession(t *testing.T, path, program string, sampling perfevent.Sampling, rewrite func(*perfevent.Sample)) (all, spinning int) {
	t.Helper()
	command, err := perfevent.StartCommand(exec.Command(program))
	if err != nil {
		t.Fatal(err)
	}
	defer command.Kill()
	session, err := perfevent.Open(perfevent.Started(command), []perfevent.Sampling{sampling}, perfevent.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	var events []Event
	for _, e := range session.Events() {
		if rewrite != nil {
			e.Attr.Sample_type = e.Attr.Sample_type&^(unix.PERF_SAMPLE_REGS_USER|unix.PERF_SAMPLE_STACK_USER) | unix.PERF_SAMPLE_CALLCHAIN
		}
		events = append(events, Event{EventAttr: e, Name: perfevent.EventOf(&e.Attr).String()})
	}
	w, err := Create(path, events, WriteOptions{Info: Info{Hostname: "host", Arch: "x86_64", Wall: 1, ClockTime: 1, ClockResolution: 1}})
	if err != nil {
		t.Fatal(err)
	}
	e, err := NewEncoder(events)
	if err != nil {
		t.Fatal(err)
	}
	put := func(r perfevent.Record) error {
		raw, err := e.Append(nil, r)
		return errors.Join(err, w.Record(raw))
	}
	mapped := processRecords(t, command.PID())
	from, to := functionAt(t, program, "spin_here", mapped)
	for _, r := range slices.Concat(kernelRecords(t), mapped) {
		if err := put(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := session.Enable(); err != nil {
		t.Fatal(err)
	}
	var failed error
	reader := perfevent.Reader{Round: func(uint64) { failed = errors.Join(failed, w.Round(), w.Flush()) }}
	var raw []byte
	reader.Raw = func(b []byte) { raw = b }
	if err := reader.Read(context.Background(), session, func(r perfevent.Record) error {
		s, ok := r.(*perfevent.Sample)
		if ok {
			all++
			if from <= s.IP && s.IP < to {
				spinning++
			}
		}
		if !ok || rewrite == nil {
			return w.Record(raw)
		}
		rewrite(s)
		return put(s)
	}); err != nil || failed != nil {
		t.Fatal(err, failed)
	}
	if err := w.Close(Sections{}); err != nil {
		t.Fatal(err)
	}
	return all, spinning
}

// functionAt returns where a function of a program is in a process.
func functionAt(t *testing.T, program, name string, mapped []perfevent.Record) (from, to uint64) {
	t.Helper()
	file, err := elf.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	functions, err := file.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(functions, func(s elf.Symbol) bool { return s.Name == name })
	text := slices.IndexFunc(mapped, func(r perfevent.Record) bool {
		m, ok := r.(*perfevent.Mmap)
		return ok && string(m.Filename) == program
	})
	if i < 0 || text < 0 {
		t.Fatalf("no %s, or %s is not mapped", name, program)
	}
	m := mapped[text].(*perfevent.Mmap)
	from = m.Addr - m.Pgoff + functions[i].Value // the file's addresses are its offsets
	return from, from + functions[i].Size
}

// kernelRecords says where the kernel is.
func kernelRecords(t *testing.T) []perfevent.Record {
	t.Helper()
	file, err := os.Open("/proc/kallsyms")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	at := map[string]uint64{}
	for lines := bufio.NewScanner(file); lines.Scan(); {
		if f := strings.Fields(lines.Text()); len(f) == 3 && (f[2] == "_text" || f[2] == "_etext") {
			at[f[2]], _ = strconv.ParseUint(f[0], 16, 64) // the kernel's own numbers
		}
	}
	if at["_text"] == 0 {
		t.Skip("kptr_restrict: the kernel's addresses")
	}
	return []perfevent.Record{KernelMmap("[kernel.kallsyms]_text", at["_text"], at["_etext"]-at["_text"], at["_text"])}
}

// processRecords says what a process has mapped, and its name.
func processRecords(t *testing.T, pid int) []perfevent.Record {
	t.Helper()
	name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	if err != nil {
		t.Fatal(err)
	}
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		t.Fatal(err)
	}
	records := []perfevent.Record{&perfevent.Comm{PID: uint32(pid), TID: uint32(pid), Name: []byte(strings.TrimSpace(string(name)))}}
	for line := range strings.Lines(string(maps)) {
		var from, to, pgoff, inode uint64
		var major, minor uint32
		var perm, path string
		if n, _ := fmt.Sscanf(line, "%x-%x %s %x %x:%x %d %s", &from, &to, &perm, &pgoff, &major, &minor, &inode, &path); n == 8 && perm[2] == 'x' {
			records = append(records, &perfevent.Mmap{Header: perfevent.Header{Misc: unix.PERF_RECORD_MISC_USER}, PID: uint32(pid), TID: uint32(pid),
				Addr: from, Len: to - from, Pgoff: pgoff, Major: major, Minor: minor, Inode: inode, Prot: unix.PROT_READ | unix.PROT_EXEC, Filename: []byte(path)})
		}
	}
	return records
}
