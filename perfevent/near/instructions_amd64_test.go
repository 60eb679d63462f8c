package near

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/ringtap/ringtap/internal/testlimit"
	"github.com/ringtap/ringtap/perfevent"
)

// instructions are the kinds that testdata/instructions.c has.
var instructions = []string{"nop", "nop5", "endbr64", "push", "sub", "only_return", "load_by_si", "load_by_di", "load_by_bx", "compare", "add", "jump_through"}

// atInstruction compares the readings at a probe on an instruction with what the program's state was there.
// The reader is on the CPU, or elsewhere.
func atInstruction(t *testing.T, kind string, calls int, elsewhere bool) (c tally, rung Rung) {
	t.Helper()
	s := startProgram(t, "instructions", kind, fmt.Sprint(calls))
	if s.first == "no AVX" {
		t.Skip("the CPU has no AVX")
	}
	event, err := perfevent.Uprobe(s.cmd.Path, functionOffset(t, s.cmd.Path, kind), 0, false)
	if err != nil {
		t.Fatal(err)
	}
	all := []perfevent.Sampling{
		{Event: event, Period: 1, UserProbe: true, UserRegs: allRegisters, Soon: true},
		{Event: perfevent.Software(perfevent.SoftwareContextSwitches), Period: 1, UserRegs: allRegisters},
	}
	opts := Options{Share: 1, VisitTime: 5 * time.Millisecond}
	session, err := openWitness(perfevent.Thread(s.cmd.Process.Pid), all, opts)
	if err != nil {
		t.Fatal(err)
	}
	o := order{Visitor: "state", Config: []byte(s.first), Witness: 1, Highest: FIFO, Places: []place{atUserProbe, anywhere},
		Skip: []uint32{uint32(os.Getpid())}, Events: session.Events(), Rings: session.RingFiles(), Elsewhere: elsewhere}
	o.bound(opts)
	r, err := start(o)
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
		at := Visit{Sample: &perfevent.Sample{Regs: reading.Regs}}
		c.add(reading.Verdict, len(reading.Data) == 64 && binary.LittleEndian.Uint64(reading.Data) == argument(&at, 0))
	}
	t.Log(c)
	if c.wrong > c.all/10000 {
		t.Errorf("%d of %d were accepted wrongly", c.wrong, c.all)
	}
	return c, r.Accounts()[0].Rung
}

func TestLiveReadingsAreExactAtAnyProbedInstruction(t *testing.T) {
	needRoot(t)
	for _, kind := range instructions {
		t.Run(kind, func(t *testing.T) {
			// An emulated guest is not woken for a while, now and then, which are many of 25 calls.
			testlimit.Enough(t, testlimit.Calls(500), func(calls int) bool {
				c, rung := atInstruction(t, kind, calls, false)
				return rung != FIFO || c.exact >= c.all/2
			})
		})
	}
}

// TestLiveAProbedInstructionThatRanIsNotBelieved has the readers too late.
func TestLiveAProbedInstructionThatRanIsNotBelieved(t *testing.T) {
	needRoot(t)
	if cpus, err := perfevent.OnlineCPUs(); err != nil || len(cpus) < 2 {
		t.Skip("needs two CPUs")
	}
	for _, kind := range instructions {
		t.Run(kind, func(t *testing.T) {
			if c, _ := atInstruction(t, kind, testlimit.Calls(2000), true); c.exact == c.all {
				t.Errorf("all of %d readings from another CPU were in time: nothing is shown", c.all)
			}
		})
	}
}
