package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/ringtap/ringtap/internal/testkit/testlimit"
	"github.com/ringtap/ringtap/perfevent"
)

// More than ten thousand processes a minute while the snapshot is taken: at its
// exit each must have a row of its own, with its name and its program.
func TestLiveEveryShortLifeHasItsRowAndMappings(t *testing.T) {
	dir := t.TempDir()
	program := compile(t, dir, "brief", `
#include <stdio.h>
int main(void) { printf("%p\n", (void *)main); return 0; }`, "-no-pie")
	shell, err := exec.LookPath("sh")
	must(t, err)
	pc := mainOf(t, program)
	testlimit.Lossless(t, func() uint64 { return livesAreSeen(t, program, shell, pc) })
}

// livesAreSeen runs the program many times and checks what the records say, unless some
// were lost, and returns how many.
func livesAreSeen(t *testing.T, program, shell string, pc uint64) (lost uint64) {
	t.Helper()
	sampling := perfevent.Sampling{Event: perfevent.CPUClock(), Frequency: 99}
	session, err := perfevent.Open(perfevent.System(), []perfevent.Sampling{sampling}, perfevent.Options{})
	if errors.Is(err, os.ErrPermission) {
		t.Skip("perf events of the whole system: root")
	}
	must(t, err)
	defer session.Close()

	loops, each := 10, 50
	if testlimit.Emulated() {
		loops, each = 2, 12
	}
	lives := loops * each
	table := NewTable(Options{})
	defer table.Close()
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		defer cancel()
		for range loops {
			loop := exec.Command(shell, "-c", `i=0; while [ $i -lt "$1" ]; do "$0"; i=$((i+1)); done`, program, strconv.Itoa(each))
			if err := loop.Run(); err != nil {
				t.Error(err)
			}
		}
	}()
	must(t, table.Snapshot())
	must(t, session.Enable())
	seen := make(map[int]bool) // by Index
	wrong := 0
	err = session.Read(ctx, func(record perfevent.Record) error {
		table.Handle(record)
		exit, ok := record.(*perfevent.Exit)
		if !ok || exit.PID != exit.TID {
			return nil
		}
		p := table.Process(int(exit.PID))
		if p.Comm != filepath.Base(program) {
			return nil
		}
		if got := pathAt(t, table, p, pc); got != program {
			wrong++
			t.Logf("process %d: %#x is in %q", p.PID, pc, got)
		}
		seen[p.Index] = true
		return nil
	})
	must(t, err)
	stats, err := session.Stats()
	must(t, err)
	if stats.Lost > 0 {
		return stats.Lost
	}
	if wrong > 0 {
		t.Errorf("%d of %d lives without their program", wrong, len(seen))
	}
	if len(seen) != lives {
		t.Errorf("%d lives had a row; want %d", len(seen), lives)
	}
	return 0
}

// mainOf asks a program where its code is.
func mainOf(t *testing.T, program string) (pc uint64) {
	t.Helper()
	text, err := exec.Command(program).Output()
	must(t, err)
	if _, err := fmt.Sscanf(string(text), "%v", &pc); err != nil {
		t.Fatalf("%q is no address: %v", text, err)
	}
	return pc
}
