package helper

import (
	"debug/elf"
	"encoding/binary"
	"fmt"
	"math/bits"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/testkit/testlimit"
	"github.com/ringtap/ringtap/perfevent"
)

// argument returns the n-th argument, from 0, of a function or system call at its entry.
func argument(v *Visit, n int) uint64 { return v.Register(argumentRegister(n)) }

func argumentRegister(n int) int {
	if runtime.GOARCH == "amd64" {
		return []int{5, 4, 3}[n] // di, si, dx
	}
	return n
}

// hitVisitor keeps the text and the list that function hit of testdata/hits.c was called with.
type hitVisitor struct{}

func (hitVisitor) Visit(v *Visit) error {
	if _, err := v.LoadString(argument(v, 0), 4000); err != nil {
		return err
	}
	node := argument(v, 1)
	for n := 0; node != 0 && n < 2000; n++ {
		b, err := v.Peek(node, 16)
		if err != nil {
			return err
		}
		if err := v.Keep(b[:8]); err != nil {
			return err
		}
		node = binary.LittleEndian.Uint64(b[8:])
	}
	return nil
}

// textVisitor keeps the text that an argument points to. The configuration is the argument's number.
type textVisitor struct{ argument int }

func newTextVisitor(config []byte) (Visitor, error) { return textVisitor{int(config[0])}, nil }

func (t textVisitor) Visit(v *Visit) error {
	_, err := v.LoadString(argument(v, t.argument), 4096)
	return err
}

// functionOffset returns the offset of a function in its file.
func functionOffset(t testing.TB, path, name string) uint64 {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	symbols, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range symbols {
		for _, p := range f.Progs {
			if s.Name == name && p.Type == elf.PT_LOAD && s.Value >= p.Vaddr && s.Value < p.Vaddr+p.Filesz {
				return s.Value - p.Vaddr + p.Off
			}
		}
	}
	t.Fatalf("%s has no function %s", path, name)
	return 0
}

// startReader starts a reader that is closed at the end of the test.
func startReader(t testing.TB, target perfevent.Target, s perfevent.Sampling, visitor string, config []byte, opts Options) *Reader {
	t.Helper()
	r, err := Start(target, []perfevent.Sampling{s}, visitor, config, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, a := range r.Accounts() {
			t.Logf("CPU %d: %s, %+v", a.cpu, a.SchedClass, a.Counts)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

// startProbed starts testdata/hits.c, and a reader at its function hit.
func startProbed(t testing.TB, calls, sleep int, opts Options) (*started, *Reader) {
	t.Helper()
	s := startProgram(t, "hits", fmt.Sprint(calls), fmt.Sprint(sleep))
	event, err := perfevent.Uprobe(s.cmd.Path, functionOffset(t, s.cmd.Path, "hit"), 0, false)
	if err != nil {
		t.Fatal(err)
	}
	at := perfevent.Sampling{Event: event, Period: 1, UserProbe: true}
	return s, startReader(t, perfevent.Thread(s.cmd.Process.Pid), at, "hit", nil, opts)
}

func TestLiveAProbeSeesWholeTextsAndLists(t *testing.T) {
	needRoot(t)
	const calls = 1000
	s, r := startProbed(t, calls, 500, Options{Share: 1, VisitTime: 5 * time.Millisecond})
	fmt.Fprintln(s.stdin, "go")
	var c accuracy
	for _, reading := range readings(t, r, calls) {
		at := Visit{Sample: &perfevent.Sample{Regs: reading.regs}}
		c.add(reading, isHit(reading.Data, argument(&at, 2)))
		if reading.regs.ABI != 2 || len(reading.regs.Values) != bits.OnesCount64(reading.regs.Mask) {
			t.Errorf("registers %+v, want those of 64 bit code", reading.regs)
		}
	}
	t.Log(c)
	if c.wronglyExact > c.all/10000 {
		t.Errorf("%d of %d readings are exact but wrong", c.wronglyExact, c.all)
	}
	if r.Accounts()[0].SchedClass == FIFO && c.exact == 0 {
		t.Error("none is exact")
	}
}

// isHit reports whether data is the text and the list of the n-th call.
func isHit(data []byte, n uint64) bool {
	if len(data) != 3000+8000 {
		return false
	}
	for i := range uint64(3000) {
		if data[i] != byte('a'+(n+i)%26) {
			return false
		}
	}
	for i := range uint64(1000) {
		if binary.LittleEndian.Uint64(data[3000+8*i:]) != n*1000+i {
			return false
		}
	}
	return true
}

// The test starts programs one after the other, each with a name of its own.
func TestLiveNamesAreReadAtTheEntryOfSystemCalls(t *testing.T) {
	needRoot(t)
	tracefs, err := ftrace.Find()
	if err != nil {
		t.Skipf("no tracefs: %v", err)
	}
	for _, tt := range []struct {
		call     string
		argument byte
		run      func(name string) *exec.Cmd
	}{
		{"execve", 0, func(name string) *exec.Cmd { return exec.Command("/bin/sh", "-c", "exec "+name) }},
		{"openat", 1, func(name string) *exec.Cmd { return exec.Command("cat", name) }},
	} {
		t.Run(tt.call, func(t *testing.T) {
			id, err := tracefs.EventID("syscalls", "sys_enter_"+tt.call)
			if err != nil {
				t.Skipf("no tracepoint: %v", err)
			}
			dir := t.TempDir()
			r := startReader(t, perfevent.System(), perfevent.Sampling{Event: perfevent.Tracepoint(id, tt.call), Period: 1},
				"text", []byte{tt.argument}, Options{Share: 1, VisitTime: 5 * time.Millisecond})
			n := testlimit.Calls(300)
			done := make(chan struct{})
			go func() {
				defer close(done)
				for i := range n {
					name := fmt.Sprintf("%s/a%d", dir, i)
					_ = os.Symlink("/bin/true", name)
					_ = tt.run(name).Run()
				}
				_ = tt.run(dir + "/last").Run()
			}()
			seen := map[string]Certainty{}
			var c accuracy
			all := readingsUntil(t, r, done)
			for _, reading := range all {
				c.all++
				c.reasons[reading.Reason]++
				if reading.Certainty == Exact {
					c.exact++
				}
				name := strings.TrimPrefix(string(reading.Data), dir+"/a")
				seen[name] = max(seen[name], reading.Certainty)
			}
			var kinds [Exact + 1]int
			missing := 0
			for i := range n {
				if kind, ok := seen[fmt.Sprint(i)]; ok {
					kinds[kind]++
				} else {
					missing++
				}
			}
			t.Logf("of %d names: %d exact, %d near, %d missing; of all calls of the host: %s", n, kinds[Exact], kinds[Near], missing, c)
			if r.Accounts()[0].SchedClass == FIFO && kinds[Exact] == 0 {
				t.Error("no name is exact")
			}
		})
	}
}
