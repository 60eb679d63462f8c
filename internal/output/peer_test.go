package output

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/internal/profile"
)

// pprofTool runs go tool pprof on a written profile.
func pprofTool(t *testing.T, path string, args ...string) string {
	t.Helper()
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("go is not installed")
	}
	cmd := exec.Command("go", append(append([]string{"tool", "pprof"}, args...), path)...)
	cmd.Env = append(os.Environ(), "PPROF_TMPDIR="+t.TempDir(), "PPROF_BINARY_PATH="+t.TempDir())
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go tool pprof %s: %v\n%s", args, err, complaints.String())
	}
	return string(out)
}

func TestPeerPprofReadsTheTrueSums(t *testing.T) {
	p := forest(71, 300)
	path := filepath.Join(t.TempDir(), "p.pb.gz")
	if err := WriteFile(path, p, FileOptions{}); err != nil {
		t.Fatal(err)
	}
	lines := truth(stackLines(p, 0, false))
	top := pprofTool(t, path, "-top", "-nodefraction=0", "-nodecount=0", "-sample_index=samples")
	// flat flat% sum% cum cum% name
	row := regexp.MustCompile(`(?m)^ *(\d+) +\S+% +\S+% +(\d+) +\S+%  (.*)$`)
	seen := 0
	for _, m := range row.FindAllStringSubmatch(top, -1) {
		name := m[3]
		if !strings.HasPrefix(name, "pkg") {
			continue // unknown frames have pprof's own names
		}
		seen++
		is := func(s string) bool { return s == name }
		flat := lines.sum(func(l stackLine) bool { return is(plain(l.Frames[len(l.Frames)-1])) })
		if m[1] != fmt.Sprint(flat) || m[2] != fmt.Sprint(lines.matching(is)) {
			t.Errorf("%s: pprof has flat %s, cum %s; want %d, %d", name, m[1], m[2], flat, lines.matching(is))
		}
	}
	if seen < 20 {
		t.Fatalf("pprof shows %d functions only:\n%s", seen, top)
	}
	for index, want := range map[string]uint64{"samples": total(p, 0), "switches": total(p, 1)} {
		text := pprofTool(t, path, "-top", "-sample_index="+index)
		if !regexp.MustCompile(`of ` + strconv.FormatUint(want, 10) + ` total`).MatchString(text) {
			t.Errorf("%s: want a total of %d in\n%.300s", index, want, text)
		}
	}
}

func TestPeerPprofReadsLinesMappingsAndLabels(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p.pb.gz")
	if err := WriteFile(path, sample(), FileOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		args []string
		want []string
	}{
		{[]string{"-raw"}, []string{"square /src/math.h:7", "main /src/worker.c:21", "ns::work(int) /src/work.cc:40", "_ZN2ns4workEi",
			"/usr/bin/worker 0123456789abcdef [FN][FL][LN][IN]", "[kernel]"}},
		{[]string{"-peek=^main$"}, []string{"_start", "square"}},
		{[]string{"-tags"}, []string{": worker", ": 4242", ": /system.slice/worker.service"}},
		{[]string{"-comments"}, []string{"on-cpu of cpu-clock on builder"}},
		{[]string{"-top"}, []string{"File: worker", "Type: cpu", "Duration: 5s", "[libfoo.so]"}},
		{[]string{"-top", "-tagfocus=comm=kworker"}, []string{"vfs_read"}},
	} {
		text := pprofTool(t, path, tt.args...)
		for _, want := range tt.want {
			if !strings.Contains(text, want) {
				t.Errorf("go tool pprof %s does not show %q:\n%s", tt.args, want, text)
			}
		}
	}
}

// TestPeerFlamegraphPlAcceptsFolded draws folded stacks with flamegraph.pl of
// the FlameGraph checkout that FLAMEGRAPH_DIR names.
func TestPeerFlamegraphPlAcceptsFolded(t *testing.T) {
	dir := os.Getenv("FLAMEGRAPH_DIR")
	if dir == "" {
		t.Skip("FLAMEGRAPH_DIR names no checkout of FlameGraph")
	}
	if _, err := exec.LookPath("perl"); err != nil {
		t.Skip("perl is not installed")
	}
	forest := forest(72, 300)
	forest.Processes[0].Comm = "thread 3" // a number at the end, as no other
	noStack := sample()
	noStack.Rows[0].User = -1
	noStack.Processes[0].Comm = "idle 1 2.5"
	for name, p := range map[string]*profile.Profile{
		"sample": sample(), "forest": forest, "hostile": hostile(), "no stack": noStack,
	} {
		var in, out, complaints bytes.Buffer
		if err := WriteFolded(&in, p, FileOptions{Inlines: true}); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("perl", filepath.Join(dir, "flamegraph.pl"), "--hash", "--countname=samples", "--minwidth=0")
		cmd.Stdin, cmd.Stdout, cmd.Stderr = &in, &out, &complaints
		if err := cmd.Run(); err != nil || complaints.Len() > 0 {
			t.Errorf("%s: flamegraph.pl: %v, says %q", name, err, complaints.String())
			continue
		}
		var sum uint64
		for _, l := range stackLines(p, 0, true) {
			sum += l.Value
		}
		m := regexp.MustCompile(`<title>all \(([\d,]+) samples, 100%\)</title>`).FindStringSubmatch(out.String())
		if m == nil || strings.ReplaceAll(m[1], ",", "") != fmt.Sprint(sum) {
			t.Errorf("%s: flamegraph.pl counts %q, want %d", name, m, sum)
		}
		if strings.Contains(out.String(), "difference") || strings.Contains(out.String(), "; -") {
			t.Errorf("%s: flamegraph.pl takes the lines for a difference", name)
		}
	}
}
