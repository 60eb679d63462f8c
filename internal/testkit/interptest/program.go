package interptest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/runtimes/interp"
	"github.com/ringtap/ringtap/internal/testkit/testlimit"
)

// Program is a program that prints the calls of its threads, as JSON on its standard output, and
// then waits. It ends with the test.
type Program struct {
	PID  int
	told *json.Decoder
}

// Start starts a program. Its standard input is open and empty.
func Start(t testing.TB, path string, args ...string) *Program {
	t.Helper()
	cmd := exec.Command(path, args...)
	in, inErr := cmd.StdinPipe()
	out, outErr := cmd.StdoutPipe()
	if inErr != nil || outErr != nil {
		t.Fatal(inErr, outErr)
	}
	cmd.Stderr = os.Stderr
	testlimit.Limit(t, cmd)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		cmd.Process.Kill()
		cmd.Wait()
	})
	return &Program{PID: cmd.Process.Pid, told: json.NewDecoder(bufio.NewReader(out))}
}

// Tell waits for the next JSON value that the program prints, and stores it in v.
func (p *Program) Tell(t testing.TB, v any) {
	t.Helper()
	if err := p.told.Decode(v); err != nil {
		t.Fatal(err)
	}
}

// WaitReading waits until the program is in read(2) from its standard input.
func (p *Program) WaitReading(t testing.TB) {
	t.Helper()
	const reads = "0 0x0 "
	for end := time.Now().Add(testlimit.End); time.Now().Before(end); {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/syscall", p.PID))
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(string(text), reads) {
			return
		}
	}
	t.Fatalf("process %d has not come to read its standard input within %v", p.PID, testlimit.End)
}

// Attach returns the program's runtime. It fails the test unless detect finds exactly one.
func (p *Program) Attach(t testing.TB, detect interp.Detector) interp.Runtime {
	t.Helper()
	table := process.NewTable(process.Options{})
	t.Cleanup(table.Close)
	runtimes, err := interp.Attach(interp.NewProcess(p.PID, table.Reread(p.PID), nil), []interp.Detector{detect})
	if err != nil || len(runtimes) != 1 {
		t.Fatalf("%d runtimes, %v", len(runtimes), err)
	}
	return runtimes[0]
}

// Told is a chain as programs print it: the function, file and line of each call.
type Told [][3]any

// Lines formats the calls that the test program told, as Chain formats those that ringtap read, so
// that a test can compare the two.
func (chain Told) Lines() (lines []string) {
	for _, f := range chain {
		lines = append(lines, fmt.Sprintf("%v %v:%v", f[0], f[1], f[2]))
	}
	return lines
}

// Chain returns the functions of calls, each as "FUNCTION FILE:LINE". It fails the test if a call has
// no function.
func Chain(t testing.TB, r interp.Runtime, calls []interp.Call) (lines []string) {
	t.Helper()
	for _, c := range calls {
		frames, ok := r.Frames(nil, c)
		if !ok {
			t.Errorf("%#x is no function", c.Code)
		}
		for _, f := range frames {
			lines = append(lines, fmt.Sprintf("%s %s:%d", f.Function, f.File, f.Line))
		}
	}
	return lines
}

// Compare fails the test unless a waiting thread has the chain want, as its program printed it. It returns
// how many functions it compared. leave, if not nil, reports lines that it ignores because the program
// does not print them.
func Compare(t testing.TB, r interp.Runtime, tid int, want []string, leave func(line string) bool) int {
	t.Helper()
	calls, end := r.Walker(nil).Walk(make([]interp.Call, 0, 4096), &interp.Thread{TID: tid})
	if end != callchain.Complete {
		t.Errorf("the chain of %d calls is %s", len(calls), end)
	}
	got := Chain(t, r, calls)
	if leave != nil {
		got = slices.DeleteFunc(got, leave)
	}
	if !slices.Equal(got, want) {
		t.Errorf("%s:\ngot  %q\nwant %q", r.Name(), got, want)
	}
	return len(got)
}
