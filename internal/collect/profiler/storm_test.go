package profiler_test

import (
	"bufio"
	"context"
	"debug/elf"
	"os/exec"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/internal/collect/oncpu"
	"github.com/ringtap/ringtap/internal/collect/profiler"
	"github.com/ringtap/ringtap/internal/profile"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/internal/testkit/testlimit"
	"github.com/ringtap/ringtap/internal/testkit/truth"
	"github.com/ringtap/ringtap/perfevent"
)

// Processes that live for some milliseconds each, as those of a configure
// script do, are all known by name and by their own code when the report is
// made, long after they are gone.
func TestLiveShortLivesAreAttributed(t *testing.T) {
	needRoot(t)
	if testlimit.Emulated() {
		t.Skip(testlimit.TooUneven)
	}
	built := truth.Named("c-O2-nofp-nopie").Build(t)
	var p *profile.Profile
	testlimit.Lossless(t, func() uint64 {
		p = profileStorm(t, built)
		return p.Accounts[0].Lost
	})
	lives := make(map[int]bool)
	var storms []profile.Row
	for _, row := range p.Rows {
		q := p.Processes[row.Process]
		if strings.HasPrefix(q.Comm, ":") && q.PID > 0 {
			t.Errorf("process %d has no name; %+v %q", q.PID, p.Accounts, p.Notes)
		}
		if q.Comm == commOf(built.Name) && row.User != profile.None && len(p.Stacks[row.User].Frames) > 3 {
			lives[q.PID] = true
			storms = append(storms, row)
		}
	}
	if len(lives) < 20 {
		t.Errorf("only %d short lives were seen", len(lives))
	}
	p.Rows = storms
	// A good part of a short life is the dynamic linker's.
	if share := matching(t, p, built); share < 0.5 {
		t.Errorf("%.1f %% of the samples have the program's chain", 100*share)
	}
	header := pltHeader(t, built.Path)
	for _, row := range storms {
		for _, f := range p.Stacks[row.User].Frames {
			if frame := p.Frames[f]; p.Objects[frame.Object].Path == built.Path && frame.Name == "" && frame.Address-header >= pltEntry {
				t.Errorf("a frame of %s at %#x has no name", built.Path, frame.Address)
			}
		}
	}
}

// commOf returns the name that the kernel gives a program: at most 15 bytes of its file's.
func commOf(name string) string { return name[:min(len(name), 15)] }

// profileStorm profiles the whole system while 100 processes live, one after the other.
func profileStorm(t *testing.T, built truth.Built) *profile.Profile {
	t.Helper()
	storm := exec.Command("sh", "-c", `while :; do "$1" 0.004 >/dev/null; echo; done`, "storm", built.Path)
	ended, err := storm.StdoutPipe() // a line for each life
	if err != nil {
		t.Fatal(err)
	}
	if err := storm.Start(); err != nil {
		t.Fatal(err)
	}
	testlimit.Limit(t, storm)
	defer storm.Wait()
	defer storm.Process.Kill()

	opts := options(perfevent.System(), stack.Auto)
	opts.Collectors[0].(*oncpu.Collector).Frequency = 999
	begins := whenItBegins(&opts)
	ctx, cancel := context.WithCancel(context.Background()) // lives end at some time
	defer cancel()
	go func() {
		<-begins
		lines := bufio.NewScanner(ended)
		for n := 0; n < 100 && lines.Scan(); n++ {
		}
		cancel()
		for lines.Scan() {
		}
	}()
	result, err := profiler.Run(ctx, opts)
	if err != nil {
		t.Fatal(err)
	}
	return result.Whole
}

// pltEntry is the size of the first entry of the procedure linkage table, by which
// the others call the dynamic linker and which is no function's stub.
const pltEntry = 16

// pltHeader is where that entry is in a file.
func pltHeader(t *testing.T, path string) uint64 {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if plt := f.Section(".plt"); plt != nil {
		return plt.Offset
	}
	return 0
}
