package session

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/testkit/testlimit"
	"github.com/ringtap/ringtap/perfevent"
	"github.com/ringtap/ringtap/scripts"
)

// TestKnownFiles is the process that programs about files watch. It does each thing of these known
// times in the folder that SESSION_KNOWN names.
func TestKnownFiles(t *testing.T) {
	dir, ok := strings.CutPrefix(os.Getenv("SESSION_KNOWN"), "files:")
	if !ok {
		t.Skip("this is a program of the live tests")
	}
	input := bufio.NewReader(os.Stdin)
	_, _ = input.ReadString('\n')
	data := make([]byte, 100)
	for i := range known {
		name := func(what string) string { return filepath.Join(dir, fmt.Sprintf("%s-%d", what, i)) }
		_, _ = unix.Open(name("absent"), unix.O_RDONLY, 0)
		fd, err := unix.Open(name("made"), unix.O_CREAT|unix.O_RDWR, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = unix.Write(fd, data)
		_ = unix.Fsync(fd)
		_, _ = unix.Pread(fd, data, 0)
		_ = unix.Fchown(fd, 4242, -1)
		_ = unix.Close(fd)
		_ = unix.Rename(name("made"), name("moved"))
		_ = unix.Unlink(name("moved"))
		_ = unix.Mkdir(name("folder"), 0o700)
		_ = unix.Rmdir(name("folder"))
	}
	fmt.Println("done")
	_, _ = input.ReadString('\n')
}

// shippedNamed returns a shipped program.
func shippedNamed(t *testing.T, name string) scripts.Program {
	t.Helper()
	all := scripts.All()
	i := slices.IndexFunc(all, func(p scripts.Program) bool { return p.Name == name })
	if i < 0 {
		t.Fatalf("there is no %s", name)
	}
	return all[i]
}

// linesWith returns the lines of an output that contain all of some texts, with one blank between
// words. A text with blanks around it is a word, also at the start or the end of a line.
func linesWith(out string, texts ...string) (lines []string) {
	for line := range strings.Lines(out) {
		line = strings.Join(strings.Fields(line), " ")
		if !slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(" "+line+" ", text) }) {
			lines = append(lines, line)
		}
	}
	return lines
}

func TestLiveShippedProgramsSeeWhatAProcessDoesWithFiles(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("root: tracepoints")
	}
	dir := t.TempDir()
	for _, test := range []struct {
		name    string
		kprobes bool
		params  []string
		named   map[string]string
		texts   []string // of each line; PID is the process
		times   int
	}{
		{"filelife", false, nil, nil, []string{"PID exe", dir + "/moved-"}, known},
		{"fileslower", false, []string{"0"}, nil, []string{"exe", " W 100 ", dir + "/made-"}, known},
		{"fileslower", false, []string{"0"}, nil, []string{"exe", " R 100 ", dir + "/made-"}, known},
		{"fileslower", false, []string{"0"}, map[string]string{"all-files": "true"}, []string{"exe", " W 5 ", "pipe:["}, 1},
		{"capable", false, nil, nil, []string{"PID exe 0 CAP_CHOWN"}, known},
		{"capable", true, nil, map[string]string{"unaudited": "true", "extra": "true"}, []string{" PID ", " exe 0 CAP_CHOWN 1 0"}, known},
		{"dcsnoop", true, nil, nil, []string{"PID exe M absent-"}, known},
		{"dcsnoop", true, nil, map[string]string{"all-lookups": "true"}, []string{"PID exe R absent-"}, known},
	} {
		name := fmt.Sprint(test.name, test.params, test.named)
		t.Run(name, func(t *testing.T) {
			if test.name == "dcsnoop" && test.named != nil {
				testlimit.Thorough(t) // it is the same program, of which one clause more runs
			}
			if test.kprobes {
				needKprobes(t)
			}
			if test.name == "capable" && !test.kprobes {
				if _, err := os.Stat("/sys/kernel/tracing/events/capability"); err != nil {
					needKprobes(t)
				}
			}
			p := shippedNamed(t, test.name)
			out, pid := watched(t, knownIn("files:"+dir), Options{Text: p.Text, File: p.Name, Params: test.params, Named: test.named, Target: &perfevent.Target{}}, "")
			var texts []string
			for _, text := range test.texts {
				texts = append(texts, strings.ReplaceAll(text, "PID", fmt.Sprint(pid)))
			}
			if lines := linesWith(out, texts...); len(lines) != test.times {
				t.Errorf("%d lines with %q, want %d, in\n%s", len(lines), texts, test.times, out)
			}
		})
	}
}

func TestLiveALibraryThatIsNotThereIsLeftOutIfTheProgramSaysSo(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("root: tracepoints")
	}
	const ignore, missing = "config = { missing_probes = ignore; }\n", "uprobe:libnothere:f { @f = count(); }\n"
	for _, test := range []struct {
		text string
		code int
	}{
		{ignore + missing + "tracepoint:syscalls:sys_enter_getsid { @g = count(); }", 0},
		{missing + "tracepoint:syscalls:sys_enter_getsid { @g = count(); }", failed},
		{ignore + missing, failed},
	} {
		var stdout, stderr bytes.Buffer
		code, err := Run(t.Context(), Options{Text: test.text, DryRun: true, Quiet: true, Stdout: &stdout, Stderr: &stderr})
		if err != nil || code != test.code || strings.Contains(stderr.String(), "libnothere: no such") != (code != 0) {
			t.Errorf("%s: exit code %d, %v\n%s", test.text, code, err, &stderr)
		}
	}
}

func TestLiveExt4slowerShowsWhatReachesExt4(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("root: tracepoints")
	}
	dir := t.TempDir()
	var stat unix.Statfs_t
	if err := unix.Statfs(dir, &stat); err != nil {
		t.Fatal(err)
	}
	if stat.Type != unix.EXT4_SUPER_MAGIC {
		t.Skip("the folder for temporary files is not on ext4")
	}
	p := shippedNamed(t, "ext4slower")
	out, pid := watched(t, knownIn("files:"+dir), Options{Text: p.Text, File: p.Name, Params: []string{"0"}, Target: &perfevent.Target{}}, "")
	for what, times := range map[string]int{" W 100 0 ": known, " S 0 0 ": known, " O 0 0 ": known, " R 100 ": 0} {
		if lines := linesWith(out, fmt.Sprintf("%d%s", pid, what), dir+"/made-"); len(lines) != times {
			t.Errorf("%d lines%s, want %d, in\n%s", len(lines), what, times, out)
		}
	}
}

func TestLiveVfsstatCountsWhatAProcessAsksFor(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("root: tracepoints")
	}
	p := shippedNamed(t, "vfsstat")
	o := Options{Text: p.Text, File: p.Name, Target: &perfevent.Target{}}
	out, _ := watched(t, knownIn("files:"+t.TempDir()), o, ": ")
	var sums [8]int
	for _, line := range linesWith(out, ": ") {
		for i, word := range strings.Fields(line)[1:] {
			n, err := strconv.Atoi(word)
			if err != nil || i >= len(sums) {
				t.Fatalf("%q is no row", line)
			}
			sums[i] += n
		}
	}
	// The process reads the lines that it gets, too, and its runtime may open files.
	if sums[0] < known || sums[1] != known+1 || sums[3] < known {
		t.Errorf("READ, WRITE, OPEN: %d, in\n%s", sums, out)
	}
	for i, column := range []string{"", "", "FSYNC/s", "", "CREATE/s", "UNLINK/s", "MKDIR/s", "RMDIR/s"} {
		if column != "" && sums[i] != known {
			t.Errorf("%s: %d, want %d, in\n%s", column, sums[i], known, out)
		}
	}
}
