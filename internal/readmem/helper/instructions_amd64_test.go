package helper

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/ringtap/ringtap/internal/testkit/testlimit"
	"github.com/ringtap/ringtap/perfevent"
)

// instructions are the functions of testdata/instructions.c.
var instructions = []string{"nop", "nop5", "endbr64", "push", "sub", "only_return", "load_by_si", "load_by_di", "load_by_bx", "compare", "add", "jump_through"}

// checkInstruction probes the first instruction of a function, and compares the readings with the
// program's state at the probe. If wrongCPU is set, the reading thread is on another CPU.
func checkInstruction(t *testing.T, function string, calls int, wrongCPU bool) (c accuracy, class SchedClass) {
	t.Helper()
	s := startProgram(t, "instructions", function, fmt.Sprint(calls))
	if s.first == "no AVX" {
		t.Skip("the CPU has no AVX")
	}
	event, err := perfevent.Uprobe(s.cmd.Path, functionOffset(t, s.cmd.Path, function), 0, false)
	if err != nil {
		t.Fatal(err)
	}
	all := []perfevent.Sampling{
		{Event: event, Period: 1, UserProbe: true, UserRegs: Registers, WakeupEvents: 1},
		{Event: perfevent.Software(perfevent.SoftwareContextSwitches), Period: 1, UserRegs: Registers},
	}
	opts := Options{Share: 1, VisitTime: 5 * time.Millisecond}
	session, err := openSession(perfevent.Thread(s.cmd.Process.Pid), all, opts)
	if err != nil {
		t.Fatal(err)
	}
	setup := childSetup{Visitor: "state", Config: []byte(s.first), SwitchSampling: 1, MaxClass: FIFO, Contexts: []sampleContext{atUserProbe, anyContext},
		SkipPIDs: []uint32{uint32(os.Getpid())}, Events: session.Events(), Rings: session.RingFiles(), WrongCPU: wrongCPU}
	setup.setLimits(opts)
	r, err := start(setup)
	if err != nil {
		t.Fatal(errors.Join(err, session.Close()))
	}
	r.session = session
	defer func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}()
	if err := session.Enable(); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(s.stdin, "go")
	for _, reading := range readings(t, r, calls) {
		at := Visit{Sample: &perfevent.Sample{Regs: reading.regs}}
		c.add(reading, len(reading.Data) == 64 && binary.LittleEndian.Uint64(reading.Data) == argument(&at, 0))
	}
	t.Log(c)
	if c.wronglyExact > c.all/10000 {
		t.Errorf("%d of %d readings are exact but wrong", c.wronglyExact, c.all)
	}
	return c, r.Accounts()[0].SchedClass
}

func TestLiveReadingsAreExactAtAnyProbedInstruction(t *testing.T) {
	needRoot(t)
	for _, function := range instructions {
		t.Run(function, func(t *testing.T) {
			// An emulated guest sometimes does not run for a while. Of 25 calls that may be many.
			testlimit.Enough(t, testlimit.Calls(500), func(calls int) bool {
				c, class := checkInstruction(t, function, calls, false)
				return class != FIFO || c.exact >= c.all/2
			})
		})
	}
}

// The threads that read are on the wrong CPU, so many of the readings are late.
func TestLiveExactReadingsAreRightIfTheReaderIsLateAtAProbe(t *testing.T) {
	needRoot(t)
	if cpus, err := perfevent.OnlineCPUs(); err != nil || len(cpus) < 2 {
		t.Skip("needs two CPUs")
	}
	for _, function := range instructions {
		t.Run(function, func(t *testing.T) {
			if c, _ := checkInstruction(t, function, testlimit.Calls(2000), true); c.exact == c.all {
				t.Errorf("all %d readings from another CPU were in time, so the test shows nothing", c.all)
			}
		})
	}
}
