package readahead_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/questions/livetest"
	"github.com/ringtap/ringtap/internal/questions/readahead"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/internal/table"
	"github.com/ringtap/ringtap/kprobe"
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
			collector := readaheadCollector(t, stack.Stacks{User: true, Kernel: true, Unwind: stack.Auto})
			program := livetest.Program(t, "readahead")
			var out bytes.Buffer
			cmd := exec.Command(program, where)
			cmd.Stdout = &out
			whole, account := livetest.Run(t, cmd, test.target, collector, test.interval)
			if account.Lost > 0 {
				t.Fatalf("%d records lost", account.Lost)
			}
			got := livetest.ByFunction(whole, "do_")
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

// readaheadCollector makes the collector by tracepoints, or by kernel probes where
// the kernel has none.
func readaheadCollector(t *testing.T, stacks stack.Stacks) table.Collector {
	t.Helper()
	tracefs, _, err := ftrace.Mount()
	if err != nil {
		t.Fatal(err)
	}
	format := func(system, event string) *ftrace.Format {
		f, err := tracefs.Format(system, event)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	added, deleted := format("filemap", "mm_filemap_add_to_page_cache"), format("filemap", "mm_filemap_delete_from_page_cache")
	if _, err := tracefs.Format("readahead", "page_cache_ra_order"); err == nil {
		c, err := readahead.New(readahead.Formats{
			Unbounded: format("readahead", "page_cache_ra_unbounded"), Order: format("readahead", "page_cache_ra_order"),
			Added: added, Deleted: deleted,
			Got: format("filemap", "mm_filemap_get_pages"), Mapped: format("filemap", "mm_filemap_map_pages"), Faulted: format("filemap", "mm_filemap_fault"),
		}, stacks)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	maps := "p:do_set_pte mapping=+24($arg2):x64 index=+32($arg2):u64"
	if text, err := os.ReadFile("/proc/kallsyms"); err == nil && bytes.Contains(text, []byte(" set_pte_range\n")) {
		maps = "p:set_pte_range count=$arg4:u32 mapping=+24($arg3):x64 index=+32($arg3):u64"
	}
	c, err := readahead.NewByProbes(readahead.Probes{
		Begins: []*ftrace.Format{kernelProbe(t, "p:page_cache_ra_unbounded control=$arg1:x64"), kernelProbe(t, "p:page_cache_ra_order control=$arg1:x64")},
		Ends:   []*ftrace.Format{kernelProbe(t, "r:page_cache_ra_unbounded sp=$stack0:x64"), kernelProbe(t, "r:page_cache_ra_order sp=$stack0:x64")},
		Adds:   kernelProbe(t, "p:filemap_add_folio mapping=$arg1:x64"),
		Reads:  kernelProbe(t, "p:filemap_get_read_batch mapping=$arg1:x64 index=$arg2:u64 last=$arg3:u64"),
		Maps:   kernelProbe(t, maps),
		Added:  added, Deleted: deleted,
	}, stacks)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// kernelProbe makes an event of tracefs for the time of the test.
func kernelProbe(t *testing.T, definition string) *ftrace.Format {
	t.Helper()
	parsed, err := kprobe.Parse(definition)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := kprobe.Resolve(parsed, kprobe.Options{})
	if err != nil {
		t.Fatal(err)
	}
	attachment, err := kprobe.Attach(plan, kprobe.AttachOptions{Target: perfevent.System()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := attachment.Close(); err != nil {
			t.Error(err)
		}
	})
	return attachment.Formats[0]
}
