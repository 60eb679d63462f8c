package perfevent

import (
	"context"
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/testkit/testlimit"
)

// What a session hands on is what its bytes say later, without the session.
func TestLiveCapturedBytesDecodeToWhatTheSessionHandedOn(t *testing.T) {
	command, err := StartCommand(exec.Command("sh", "-c", "i=0; while [ $i -lt 30000 ]; do i=$((i+1)); done; ls /; exec true"))
	if err != nil {
		t.Fatal(err)
	}
	samplings := []Sampling{
		{Event: CPUClock(), Frequency: 999, Callchain: CallchainMode{User: true}, ExcludeKernel: true},
		{Event: Software(SoftwarePageFaults), Period: 1, Addr: true, UserRegs: 0b111, UserStack: 256, ExcludeKernel: true},
	}
	session, err := Open(Started(command), samplings, Options{})
	if err != nil {
		command.Kill()
		t.Fatal(err)
	}
	defer session.Close()
	if err := session.Enable(); err != nil {
		t.Fatal(err)
	}
	var captured []byte
	var handed batch
	reader := Reader{Raw: func(b []byte) { captured = append(captured, b...) }}
	if err := reader.Read(context.Background(), session, func(rec Record) error {
		handed.add(rec)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	kinds := make(map[RecordType]int)
	for _, rec := range handed.records {
		kinds[rec.Common().Type]++
	}
	for _, kind := range []RecordType{unix.PERF_RECORD_SAMPLE, unix.PERF_RECORD_COMM, unix.PERF_RECORD_MMAP2,
		unix.PERF_RECORD_FORK, unix.PERF_RECORD_EXIT} {
		if kinds[kind] == 0 {
			t.Errorf("no record of type %d among %v", kind, kinds)
		}
	}
	if diff := cmp.Diff(handed.records, decodedAgain(t, session.Events(), captured)); diff != "" {
		t.Errorf("the session handed on (-) what the bytes do not say (+):\n%s", diff)
	}
}

func TestLiveRegistersAgreeWithTheSample(t *testing.T) {
	needRoot(t)
	s := open(t, System(), []Sampling{{
		Event: CPUClock(), Frequency: 4000, ExcludeIdle: true, UserRegs: ipRegister, UserStack: 4096,
		Callchain: CallchainMode{Kernel: true, User: true},
	}}, Options{})
	enable(t, s)
	ctx, cancel := context.WithTimeout(context.Background(), testlimit.Patience(time.Minute))
	defer cancel()
	go spin(ctx)
	user, stacks := 0, 0
	err := s.Read(ctx, func(rec Record) error {
		sample, ok := rec.(*Sample)
		if !ok {
			return nil
		}
		switch {
		case sample.Regs.ABI == unix.PERF_SAMPLE_REGS_ABI_NONE:
			if len(sample.Regs.Values) != 0 || len(sample.Stack) != 0 {
				t.Errorf("a task without user registers has %d, and %d bytes of stack", len(sample.Regs.Values), len(sample.Stack))
			}
		case sample.Misc&unix.PERF_RECORD_MISC_CPUMODE_MASK == unix.PERF_RECORD_MISC_USER:
			if user++; user == 500 {
				cancel() // the rings hold more than what comes until it is heard
			}
			if len(sample.Regs.Values) != 1 || sample.Regs.Values[0] != sample.IP {
				t.Errorf("in user mode at %#x the registers are %#x", sample.IP, sample.Regs.Values)
			}
			if n := len(sample.Callchain); n < 2 || !slices.Contains(sample.Callchain, sample.IP) {
				t.Errorf("the callchain of %#x is %#x", sample.IP, sample.Callchain)
			}
			// A copy fails where the stack's page is not in memory.
			if len(sample.Stack) > 0 {
				stacks++
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if user == 0 || stacks < user/2 {
		t.Errorf("%d samples in user mode, %d with a stack", user, stacks)
	}
	accounts, err := s.Accounts()
	if err != nil || accounts[0].Lost != 0 || accounts[0].Exact {
		t.Errorf("account %+v, %v", accounts[0], err)
	}
	if stats, err := s.Stats(); err != nil || stats.Malformed != 0 {
		t.Errorf("stats %+v, %v", stats, err)
	}
}
