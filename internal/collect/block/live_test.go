package block_test

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/collect/block"
	"github.com/ringtap/ringtap/internal/collect/table"
	"github.com/ringtap/ringtap/internal/profile"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/internal/testkit/livetest"
	"github.com/ringtap/ringtap/internal/testkit/testlimit"
	"github.com/ringtap/ringtap/perfevent"
)

func TestLiveBlockIsWhatTheProgramAskedFor(t *testing.T) {
	device := livetest.LoopDevice(t)
	collector := blockCollector(t, false)
	whole, account := livetest.Run(t, exec.Command(livetest.Program(t, "block", "-pthread"), "/dev/"+device), perfevent.Started, collector, 0)
	if account.Lost > 0 {
		t.Fatalf("%d records lost", account.Lost)
	}
	got := livetest.ByFunction(whole, "do_")
	for name, want := range map[string]struct{ bytes, least, most uint64 }{
		"do_write":   {100 * 65536, 100, 100},
		"do_read":    {3 * 250 * 4096, 750, 750},
		"do_large":   {3 * 4 << 20, 3, 3 * 64},
		"do_sync":    {64 * 16384, 1, 257}, // and one flush
		"do_discard": {1 << 20, 1, 16},
	} {
		is := got[name]
		if is[0] != want.bytes || is[1] < want.least || is[1] > want.most || is[2] == 0 {
			t.Errorf("%s: %d bytes in %d requests, %d ns, want %d bytes in %d to %d", name, is[0], is[1], is[2], want.bytes, want.least, want.most)
		}
	}
	if t.Failed() {
		t.Logf("%+v, by function %v, by kind %v", account, livetest.ByFunction(whole, ""), byLabel(whole, device))
	}
	if n := byLabel(whole, device)["flush"][1]; n == 0 {
		t.Error("no flush, which fsync(2) asks for")
	}
}

// The kernel counts each disk's requests and sectors itself.
func TestLiveBlockIsWhatTheDiskCounts(t *testing.T) {
	device := livetest.LoopDevice(t)
	program := livetest.Program(t, "block", "-pthread")
	var before []uint64
	var whole *profile.Profile
	testlimit.Lossless(t, func() uint64 {
		before = diskStat(t, device)
		var account profile.Account
		whole, account = livetest.Run(t, exec.Command(program, "/dev/"+device), nil, blockCollector(t, true), 0)
		return account.Lost
	})
	after, got := diskStat(t, device), byLabel(whole, device)
	for kind, at := range map[string]int{"read": 0, "write": 4, "discard": 11} {
		requests, sectors := after[at]-before[at], after[at+2]-before[at+2]
		if kind == "write" {
			requests -= got["flush"][1] // the disk has an empty write for each fsync(2)
		}
		if is := got[kind]; is[1] != requests || is[0] != 512*sectors {
			t.Errorf("%s: %d bytes in %d requests, the disk counts %d in %d", kind, is[0], is[1], 512*sectors, requests)
		}
	}
	if flushes := after[15] - before[15]; got["flush"][1] != flushes {
		t.Errorf("%d flushes, the disk counts %d", got["flush"][1], flushes)
	}
}

func blockCollector(t *testing.T, whole bool) table.Collector {
	t.Helper()
	tracefs, _, err := ftrace.Mount()
	if err != nil {
		t.Fatal(err)
	}
	formats, err := block.ReadFormats(tracefs)
	if err != nil {
		t.Fatal(err)
	}
	c, err := block.New(formats, whole, stack.Stacks{User: true, Kernel: true, Unwind: stack.Auto})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// diskStat reads the counts of a disk (Documentation/block/stat.rst).
func diskStat(t *testing.T, device string) []uint64 {
	t.Helper()
	text, err := os.ReadFile("/sys/block/" + device + "/stat")
	if err != nil {
		t.Fatal(err)
	}
	var all []uint64
	for _, field := range strings.Fields(string(text)) {
		var n uint64
		if _, err := fmt.Sscan(field, &n); err != nil {
			t.Fatal(err)
		}
		all = append(all, n)
	}
	return all
}

// byLabel adds up the rows of a device by what was done to it.
func byLabel(p *profile.Profile, device string) map[string]livetest.Moved {
	sums := make(map[string]livetest.Moved)
	for _, row := range p.Rows {
		for _, stack := range []int{row.User, row.Kernel} {
			if stack == profile.None {
				continue
			}
			for _, f := range p.Stacks[stack].Frames {
				if kind, ok := strings.CutPrefix(p.Frames[f].Name, "["+device+" "); ok {
					kind = strings.TrimSuffix(kind, "]")
					sum := sums[kind]
					for i := range row.Values {
						sum[i] += row.Values[i]
					}
					sums[kind] = sum
				}
			}
		}
	}
	return sums
}
