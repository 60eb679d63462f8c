package llc

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/perfevent"
)

// openCacheEvent is set to the index of the event that the test binary is to open,
// while strace looks on.
const openCacheEvent = "RINGTAP_TEST_OPEN_CACHE_EVENT"

// howRead are fields that say how samples are carried and read, and not what is
// counted, or that only newer headers have; and the records of processes, which are
// an event's of their own here.
var howRead = map[string]bool{
	"size": true, "sample_type": true, "read_format": true, "watermark": true, "wakeup_events": true, "wakeup_watermark": true,
	"use_clockid": true, "clockid": true, "sample_regs_user": true, "sample_stack_user": true, "sample_max_stack": true,
	"sample_regs_intr": true, "exclude_callchain_user": true, "aux_watermark": true, "aux_sample_size": true, "sig_data": true,
	"inherit_thread": true, "remove_on_exec": true, "sigtrap": true, "build_id": true, "__reserved_2": true,
	"inherit": true, // events on CPUs are not
	"mmap":    true, "mmap2": true, "mmap_data": true, "comm": true, "comm_exec": true, "task": true, "ksymbol": true, "bpf_event": true, "namespaces": true, "cgroup": true,
}

// perf and ringtap ask the kernel for the same, whether or not it has it.
func TestPeerTheCacheEventsArePerfs(t *testing.T) {
	collector := New(10007, stack.Stacks{User: true, Kernel: true, Unwind: stack.DWARF})
	samplings := collector.Plan().Samplings
	if index, err := strconv.Atoi(os.Getenv(openCacheEvent)); err == nil {
		if s, err := perfevent.Open(perfevent.Process(os.Getppid()), samplings[index:index+1], perfevent.Options{}); err == nil {
			s.Close()
		}
		return
	}
	for _, tool := range []string{"perf", "strace"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is not installed", tool)
		}
	}
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	for i, event := range []string{"cache-misses", "cache-references"} {
		t.Run(event, func(t *testing.T) {
			perf := attributes(t, exec.Command("perf", "record", "-e", event, "-c", "10007", "--call-graph", "dwarf,8192",
				"-o", filepath.Join(t.TempDir(), "perf.data"), "-p", strconv.Itoa(os.Getpid()), "--", "sleep", "0.1"))
			own := exec.Command(os.Args[0], "-test.run=^"+strings.Split(t.Name(), "/")[0]+"$")
			own.Env = append(os.Environ(), fmt.Sprintf("%s=%d", openCacheEvent, i))
			ours := attributes(t, own)
			for name, value := range perf {
				if !howRead[name] && ours[name] != value {
					t.Errorf("%s is %q, perf's %q", name, ours[name], value)
				}
			}
			for _, part := range strings.Split(perf["sample_type"], "|") {
				// An id has two forms, and addresses of data are of no use.
				known := part == "PERF_SAMPLE_ID" || part == "PERF_SAMPLE_ADDR" || part == "PERF_SAMPLE_DATA_SRC"
				if !known && !strings.Contains(ours["sample_type"], part) {
					t.Errorf("samples lack perf's %s: %s", part, ours["sample_type"])
				}
			}
			if got := ours["sample_stack_user"]; got != perf["sample_stack_user"] {
				t.Errorf("%s bytes of the stack are copied, and by perf %s", got, perf["sample_stack_user"])
			}
		})
	}
}

var attribute = regexp.MustCompile(`(\w+)=([^,}]+)`)

// attributes are those of the event that a command opens to sample a cache event.
func attributes(t *testing.T, cmd *exec.Cmd) map[string]string {
	t.Helper()
	trace := filepath.Join(t.TempDir(), "trace")
	strace := exec.Command("strace", append([]string{"-f", "-v", "-e", "trace=perf_event_open", "-o", trace, "--"}, cmd.Args...)...)
	strace.Env = cmd.Env
	out, _ := strace.CombinedOutput() // what it is to open may not be there
	text, err := os.ReadFile(trace)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for line := range strings.Lines(string(text)) {
		if !strings.Contains(line, "PERF_COUNT_HW_CACHE_") || !strings.Contains(line, "sample_period=10007") {
			continue
		}
		all := make(map[string]string)
		for _, m := range attribute.FindAllStringSubmatch(line[:strings.Index(line, "}")], -1) {
			value, _, _ := strings.Cut(m[2], " /*")
			all[m[1]] = value
		}
		return all
	}
	t.Fatalf("%s opens no cache event:\n%s%s", cmd, text, out)
	return nil
}
