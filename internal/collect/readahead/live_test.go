package readahead_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/cli/target"
	"github.com/ringtap/ringtap/internal/collect"
	"github.com/ringtap/ringtap/internal/collect/readahead"
	"github.com/ringtap/ringtap/internal/collect/table"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/internal/testkit/livetest"
	"github.com/ringtap/ringtap/perfevent"
)

// The program asks mincore(2) what is in the cache, and knows what it has read.
func TestLiveReadaheadIsWhatIsInTheCacheAndWhatWasReadOfIt(t *testing.T) {
	where := onADisk(t)
	for _, test := range []struct {
		name     string
		target   func(*perfevent.Command) perfevent.Target
		interval time.Duration
	}{
		{"a command", perfevent.Started, 0},
		{"a command in windows of 20 ms", perfevent.Started, 20 * time.Millisecond},
		{"the whole system", nil, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			collector := readaheadCollector(t)
			program := livetest.Program(t, "readahead")
			var out bytes.Buffer
			cmd := exec.Command(program, where)
			cmd.Stdout = &out
			whole, account := livetest.Run(t, cmd, test.target, collector, test.interval)
			if account.Lost > 0 {
				t.Fatalf("%d records lost", account.Lost)
			}
			got := livetest.ByFunction(livetest.Only(whole, program), "do_")
			for line := range strings.Lines(out.String()) {
				var name string
				var cached, least, most uint64
				if _, err := fmt.Sscan(line, &name, &cached, &least, &most); err != nil {
					t.Fatal(line, err)
				}
				unused, used := got[name][0], got[name][1]
				if unused+used != cached || used < least || used > most {
					t.Errorf("%s: %d pages unused and %d used, want %d in all and from %d to %d used", name, unused, used, cached, least, most)
				}
			}
		})
	}
}

// onADisk returns a directory on a file system that reads ahead, or a block device,
// which does so as well.
func onADisk(t *testing.T) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("root: the page cache is everybody's")
	}
	for _, dir := range []string{t.TempDir(), "/var/tmp", "."} {
		var st unix.Statfs_t
		if err := unix.Statfs(dir, &st); err == nil && st.Type == unix.EXT4_SUPER_MAGIC {
			return dir
		}
	}
	return "/dev/" + livetest.LoopDevice(t)
}

// readaheadCollector makes the collector, whose probes go with the test.
func readaheadCollector(t *testing.T) table.Collector {
	t.Helper()
	run := &collect.Run{Target: &target.Target{}, Unwind: stack.Auto, Logger: slog.New(slog.DiscardHandler)}
	collectors, err := readahead.Open(run)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := run.Close(); err != nil {
			t.Error(err)
		}
	})
	return collectors[0]
}
