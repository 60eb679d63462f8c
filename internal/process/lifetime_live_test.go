package process

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/ringtap/ringtap/internal/testkit/testlimit"
	"github.com/ringtap/ringtap/perfevent"
)

// Each program is a file of its own that is deleted a while after it ran.
func TestLiveProgramsThatComeAndGoAreAllFoundWithFewDescriptors(t *testing.T) {
	const budget, kept = 64, 150
	dir := t.TempDir()
	program := compile(t, dir, "brief", `
#include <stdio.h>
int main(void) { printf("%p\n", (void *)main); return 0; }`, "-no-pie")
	pc := mainOf(t, program)
	code, err := os.ReadFile(program)
	must(t, err)
	session, err := perfevent.Open(perfevent.System(), []perfevent.Sampling{{Event: perfevent.CPUClock(), Frequency: 99}}, perfevent.Options{})
	if errors.Is(err, os.ErrPermission) {
		t.Skip("perf events of the whole system: root")
	}
	must(t, err)
	defer session.Close()
	table := NewTable(Options{maxFiles: budget})
	defer table.Close()
	must(t, table.Snapshot())
	must(t, session.Enable())

	lives := 400
	if testlimit.Emulated() {
		lives = 250
	}
	name := func(i int) string { return filepath.Join(dir, "own"+strconv.Itoa(i)) }
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		defer cancel()
		for i := range lives {
			if err := errors.Join(os.WriteFile(name(i), code, 0o700), exec.Command(name(i)).Run()); err != nil {
				t.Error(err)
			}
			if i >= kept {
				os.Remove(name(i - kept))
			}
		}
	}()
	opened := 0
	err = session.Read(ctx, func(record perfevent.Record) error {
		table.Handle(record)
		exit, ok := record.(*perfevent.Exit)
		if !ok || exit.PID != exit.TID {
			return nil
		}
		p := table.Process(int(exit.PID))
		if len(p.Comm) < 4 || p.Comm[:3] != "own" {
			return nil
		}
		if o := objectAt(t, table, p.PID, pc); errors.Is(o.err, errBudget) {
			t.Errorf("%s: %v", o.Path, o.err)
		} else if o.file != nil {
			opened++
		}
		return nil
	})
	must(t, err)
	if opened <= budget {
		t.Errorf("%d programs of %d could be opened, which the budget of %d has room for", opened, lives, budget)
	}
	if got := len(table.Objects()); got > lives/2 {
		t.Errorf("%d objects are left of %d programs", got, lives)
	}
}
