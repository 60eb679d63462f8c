package read

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/pprof"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtap/ringtap/internal/profile"
	"github.com/ringtap/ringtap/internal/testkit/compiled"
	"github.com/ringtap/ringtap/internal/testkit/perfrecord"
)

const spinText = `
static volatile unsigned long sum;
static inline __attribute__((always_inline)) void inner(void) { for (int i = 0; i < 2000; i++) sum += i; }
__attribute__((noinline)) void leaf(void) { inner(); }
__attribute__((noinline)) void middle(void) { leaf(); sum++; }
int main(void) { for (int i = 0; i < 50000; i++) middle(); return 0; }
`

// record records a program whose name has blanks and numbers, and returns the recording.
func record(t *testing.T, args ...string) string {
	t.Helper()
	program := compiled.Program(t, map[string]string{"spin.c": spinText},
		"gcc", "-O2", "-g", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls", "-o", "spin 1 x", "spin.c")
	return perfrecord.Record(t, perfrecord.Mode{Args: strings.Join(args, " ")}, program)
}

func perfScript(t *testing.T, path string, args ...string) string {
	t.Helper()
	return perfrecord.Run(t, append([]string{"script", "-i", path}, args...)...)
}

// counted counts the text of perf script by hand: the periods by the process's name and the names
// of the functions, root first, of one event. It knows the process's name, so it needs no rule to
// find its end.
func counted(t *testing.T, text, comm, event string) map[string]uint64 {
	t.Helper()
	sums := map[string]uint64{}
	text = regexp.MustCompile(`(?m)^# .*\n|^#\n`).ReplaceAllString(text, "")
	for sample := range strings.SplitSeq(text, "\n\n") {
		lines := strings.Split(strings.Trim(sample, "\n"), "\n")
		words := strings.Fields(strings.TrimPrefix(lines[0], comm))
		if len(words) == 0 || words[len(words)-1] != event+":" || !strings.HasPrefix(lines[0], comm+" ") {
			continue
		}
		period, err := strconv.ParseUint(words[len(words)-2], 10, 64)
		if err != nil {
			period = 1 // the time comes before the event
		}
		stack := ""
		for _, line := range lines[1:] {
			name, _, _ := strings.Cut(strings.Fields(line)[1], "+0x")
			stack = ";" + name + stack
		}
		sums[comm+stack] += period
	}
	return sums
}

// readStacks returns the same of a profile. Functions without a name are "[unknown]".
func readStacks(t *testing.T, p *profile.Profile, metric string) map[string]uint64 {
	t.Helper()
	unknown := regexp.MustCompile(`\[unknown\] \([^;]*?\)(_\[k\])?(;|$)`)
	sums := map[string]uint64{}
	for line := range strings.Lines(foldedText(t, p, metric)) {
		i := strings.LastIndexByte(line, ' ')
		value, err := strconv.ParseUint(strings.TrimSpace(line[i:]), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		stack := unknown.ReplaceAllString(line[:i], "[unknown]$2")
		sums[strings.NewReplacer("_[k]", "", "_[i]", "").Replace(stack)] += value
	}
	return sums
}

func TestPeerPerfScriptHasTheStacksThatWereCountedByHand(t *testing.T) {
	for name, args := range map[string][]string{
		"frame pointers":   {"-e", "cpu-clock", "-F", "999", "-g"},
		"inlined":          {"-e", "cpu-clock:u", "-F", "499", "--call-graph", "dwarf"},
		"two events":       {"-e", "page-faults,cpu-clock", "-F", "999", "-g"},
		"processes' names": {"-e", "cpu-clock", "-F", "999", "-g", "-a"},
	} {
		t.Run(name, func(t *testing.T) {
			path := record(t, args...)
			event := args[1]
			if name == "two events" {
				event = "cpu-clock"
			}
			fields := "comm,pid,tid,time,event,ip,sym,dso"
			if name == "processes' names" {
				fields = "comm,pid,tid,cpu,time,event,ip,sym,dso"
			}
			scripts := [][]string{nil, {"-F", fields}}
			if name == "frame pointers" {
				scripts = append(scripts, []string{"--header"}, []string{"-F", "comm,tid,time,event,ip,sym"})
			}
			for _, args := range scripts {
				text := perfScript(t, path, args...)
				want := counted(t, text, "spin 1 x", event)
				if len(want) == 0 {
					t.Fatalf("perf script %q has no samples of %s:\n%.500s", args, event, text)
				}
				got := map[string]uint64{}
				for stack, value := range readStacks(t, read(t, []byte(text)), event) {
					if strings.HasPrefix(stack, "spin 1 x;") {
						got[stack] = value
					}
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("perf script %q (-counted +read):\n%s", args, diff)
				}
			}
		})
	}
}

func TestPeerARecordingIsNotReadAsAProfile(t *testing.T) {
	path := record(t, "-e", "cpu-clock")
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := Profile(path, f); err == nil || !strings.Contains(err.Error(), ErrPerfData.Error()) {
		t.Errorf("%v", err)
	}
}

// TestPeerStackcollapsePerfPlHasTheSameStacks reads a recording and the texts of the FlameGraph
// checkout that FLAMEGRAPH_DIR names.
func TestPeerStackcollapsePerfPlHasTheSameStacks(t *testing.T) {
	dir := os.Getenv("FLAMEGRAPH_DIR")
	if dir == "" {
		t.Skip("FLAMEGRAPH_DIR names no checkout of FlameGraph")
	}
	if _, err := exec.LookPath("perl"); err != nil {
		t.Skip("perl is not installed")
	}
	texts := map[string]string{"recorded": perfScript(t, record(t, "-e", "cpu-clock", "-F", "999", "-g", "-a"))}
	paths, err := filepath.Glob(filepath.Join(dir, "test", "perf-*.txt"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no texts in %s: %v", dir, err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		texts[filepath.Base(path)] = string(text)
	}
	for name, text := range texts {
		// The program counts no sample without a blank line after it. It takes a number in a
		// process's name for the process, and a function without a name for a blank.
		text = strings.ReplaceAll(text, "spin 1 x", "spin_1_x") + "\n"
		text = regexp.MustCompile(`(?m)^(\s*[0-9a-f]+)  \(`).ReplaceAllString(text, "$1 [unknown] (")
		cmd := exec.Command("perl", filepath.Join(dir, "stackcollapse-perf.pl"), "--all")
		cmd.Stdin = strings.NewReader(text)
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		want, got := map[string]uint64{}, map[string]uint64{}
		for line := range strings.Lines(string(out)) {
			add(t, want, line, func(frame string) string { return frame })
		}
		for line := range strings.Lines(foldedText(t, read(t, []byte(text)), "")) {
			comm, _, _ := strings.Cut(line, ";")
			add(t, got, line, func(frame string) string { return collapsed(frame, strings.HasPrefix(comm, "java")) })
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-stackcollapse-perf.pl +read):\n%s", name, diff)
		}
	}
}

// add adds a folded line, without marks: the program takes the vdso for the kernel and a perf map
// for no object.
func add(t *testing.T, sums map[string]uint64, line string, rename func(string) string) {
	t.Helper()
	i := strings.LastIndexByte(line, ' ')
	value, err := strconv.ParseUint(strings.TrimSpace(line[i:]), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	frames := strings.Split(line[:i], ";")
	frames[0] = strings.ReplaceAll(frames[0], " ", "_")
	for i, frame := range frames[1:] {
		for _, mark := range []string{"_[k]", "_[j]", "_[i]"} {
			frame = strings.TrimSuffix(frame, mark)
		}
		frames[i+1] = rename(frame)
	}
	sums[strings.Join(frames, ";")] += value
}

var goMethod = regexp.MustCompile(`\.\(.*\)\.`)

// collapsed does to a frame what stackcollapse-perf.pl does.
func collapsed(frame string, java bool) string {
	if file, ok := strings.CutPrefix(frame, "[unknown] ("); ok {
		if file = strings.TrimSuffix(file, ")"); file == "?" || file == "[kernel]" {
			file = map[string]string{"?": "unknown", "[kernel]": "[kernel.kallsyms]"}[file]
		}
		return "[" + file + "]"
	}
	if !goMethod.MatchString(frame) {
		for i := range frame {
			if frame[i] == '(' && !strings.HasPrefix(frame[i:], "(anonymous namespace)") {
				frame = frame[:i]
				break
			}
		}
	}
	frame = strings.NewReplacer(`"`, "", "'", "").Replace(frame)
	if java && strings.Contains(frame, "/") {
		frame = strings.TrimPrefix(frame, "L")
	}
	return frame
}

// TestPeerGoToolPprofHasTheSameTotals reads a profile of the Go runtime.
func TestPeerGoToolPprofHasTheSameTotals(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("go is not installed")
	}
	path := filepath.Join(t.TempDir(), "heap.pb.gz")
	var b bytes.Buffer
	if err := pprof.Lookup("allocs").WriteTo(&b, 0); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	p := read(t, b.Bytes())
	if p.Metrics[0].Name != "alloc_space" || p.Metrics[0].Unit != "bytes" {
		t.Errorf("first is %+v", p.Metrics[0])
	}
	for m := range p.Metrics {
		cmd := exec.Command("go", "tool", "pprof", "-top", "-unit=B", "-sample_index="+p.Metrics[m].Name, path)
		cmd.Env = append(os.Environ(), "PPROF_TMPDIR="+t.TempDir())
		top, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		var sum uint64
		for i := range p.Rows {
			sum += p.Rows[i].Values[m]
		}
		if want := fmt.Sprintf(" of %dB? total", sum); sum > 0 && !regexp.MustCompile(want).Match(top) {
			t.Errorf("%s: %d, go tool pprof:\n%.300s", p.Metrics[m].Name, sum, top)
		}
	}
}
