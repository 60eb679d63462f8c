package io_test

import (
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/collect/io"
	"github.com/ringtap/ringtap/internal/collect/oncpu"
	"github.com/ringtap/ringtap/internal/collect/table"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/profile"
	"github.com/ringtap/ringtap/internal/readmem/athit"
	"github.com/ringtap/ringtap/internal/readmem/helper"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/internal/testkit/livetest"
	"github.com/ringtap/ringtap/internal/testkit/testlimit"
	"github.com/ringtap/ringtap/perfevent"
)

func TestMain(m *testing.M) {
	helper.Serve(map[string]helper.NewVisitor{athit.Visitor: athit.NewVisitors()})
	os.Exit(m.Run())
}

func TestLiveFilesThatAreGoneHaveThePathsTheyWereOpenedBy(t *testing.T) {
	checkPaths(t)
}

// The paths' samplings then have other indexes in the session than in the collector.
func TestLiveFilesThatAreGoneHaveTheirPathsAfterAnotherCollector(t *testing.T) {
	checkPaths(t, &oncpu.Collector{Event: perfevent.CPUClock(), Frequency: 99})
}

// checkPaths runs the collector after others that have one column each.
func checkPaths(t *testing.T, others ...table.Collector) {
	t.Helper()
	formats := ioFormats(t)
	tracefs, _, err := ftrace.Mount()
	if err != nil {
		t.Fatal(err)
	}
	program, dir, files := livetest.Program(t, "opens"), t.TempDir(), testlimit.Calls(300)
	var whole *profile.Profile
	testlimit.Lossless(t, func() uint64 {
		collector, err := io.New(process.Host{}, formats, io.ByFile, stack.Stacks{User: true, Unwind: stack.Auto, Copy: 1024})
		if err != nil {
			t.Fatal(err)
		}
		stop, err := collector.ReadPaths(tracefs, perfevent.System(), slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		result := livetest.RunAll(t, exec.Command(program, fmt.Sprint(files), dir), perfevent.Started, append(slices.Clone(others), collector), 0)
		if err := stop(); err != nil {
			t.Error(err)
		}
		whole = result.Whole
		return result.Accounts[0].Lost
	})
	for i := range whole.Rows {
		whole.Rows[i].Values = whole.Rows[i].Values[len(others):]
	}
	moved, missing := livetest.ByFunction(whole, "["), 0
	for i := range files {
		name := fmt.Sprintf("%s/f%d", dir, i)
		names := []string{name}
		switch i % 4 { // see the program
		case 1: // its working directory may be gone
			names = append(names, filepath.Base(name))
		case 2:
			names[0] = fmt.Sprintf("%s/f\x01\n%d", dir, i)
		}
		var got livetest.Moved
		for _, name := range names {
			for j, n := range moved["["+name+"]"] {
				got[j] += n
			}
		}
		switch {
		case i%4 == 2 && got[1] == 0: // what is read late and is no text is not taken for a path
			missing++
		case got[0] != uint64(100+i) || got[1] != 1:
			t.Errorf("%q: %d bytes in %d calls, want %d in one", names, got[0], got[1], 100+i)
		}
	}
	if counted := unnamed(whole); missing > counted || missing > 1+files/100 {
		t.Errorf("of %d files %d have no name, and %d are counted as such", files, missing, counted)
	}
}

// unnamed returns how many calls a profile's notes say had a descriptor without a name.
func unnamed(p *profile.Profile) (calls int) {
	for _, note := range p.AllNotes() {
		if _, count, ok := strings.Cut(note, "[file] and [closed]: "); ok {
			_, _ = fmt.Sscan(count, &calls)
		}
	}
	return calls
}
