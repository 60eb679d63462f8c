package io_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/internal/collect/io"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/internal/testkit/livetest"
	"github.com/ringtap/ringtap/internal/testkit/truth"
	"github.com/ringtap/ringtap/perfevent"
)

// noData is how many calls of the program find no data (EAGAIN). strace counts them as failed; the collector does
// not.
var noData = map[string]uint64{"recvfrom": 80, "recvmmsg": 80}

// strace counts the calls of the program by their names, and those that failed.
func TestPeerIOCountsTheCallsThatStraceCounts(t *testing.T) {
	if _, err := exec.LookPath("strace"); err != nil {
		t.Skip("strace is not installed")
	}
	// A return from a function that somebody else probes is a system call, at which a
	// program that strace traces has died (Linux 6.18).
	truth.OwnLibc(t)
	formats := ioFormats(t)
	program, counts := livetest.Program(t, "io", "-pthread"), filepath.Join(t.TempDir(), "counts")
	if out, err := exec.Command("strace", "-f", "-c", "-U", "name,calls,errors", "-o", counts, program, "20").CombinedOutput(); err != nil {
		t.Fatalf("strace: %v\n%s", err, out)
	}
	text, err := os.ReadFile(counts)
	if err != nil {
		t.Fatal(err)
	}
	collector, err := io.New(process.Host{}, formats, io.ByNothing, stack.Stacks{User: true, Unwind: stack.Auto, Copy: 1024})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "20")
	cmd.Stdout = new(bytes.Buffer)
	whole, account := livetest.Run(t, cmd, perfevent.Started, collector, 0)
	if account.Lost > 0 {
		t.Fatalf("%d records lost", account.Lost)
	}
	got, compared := livetest.ByFunction(whole, "do_"), 0
	for line := range strings.Lines(string(text)) {
		var name string
		var calls, failed uint64
		if n, _ := fmt.Sscan(line, &name, &calls, &failed); n < 2 {
			continue
		}
		is, ok := got["do_"+name]
		if !ok || name == "read" || name == "write" || name == "pread64" {
			continue // the loader, and the table that the program prints, do these as well
		}
		compared++
		again := noData[name]
		if is[1]+is[3]+again != calls || is[3]+again != failed {
			t.Errorf("%s: %d calls and %d failed, strace counts %d and %d", name, is[1]+is[3], is[3], calls, failed)
		}
	}
	if compared < 15 {
		t.Errorf("only %d system calls were compared:\n%s", compared, text)
	}
}
