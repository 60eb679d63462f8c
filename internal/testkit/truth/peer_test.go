package truth

import (
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/internal/testkit/testlimit"
)

// gdbFrame is one line of gdb's backtrace, "#1  0x… in name (…) at file" or at
// the leaf "#0  name (…) at file".
var gdbFrame = regexp.MustCompile(`(?m)^#\d+\s+(?:0x[0-9a-f]+ in )?(.+?) \(.*$`)

func TestPeerGdbSeesTheChainsOfProgramsWithDebugInformation(t *testing.T) {
	testlimit.Thorough(t)
	gdb, err := exec.LookPath("gdb")
	if err != nil {
		t.Skip("gdb is not installed")
	}
	for _, p := range Programs() {
		if !p.debug {
			continue
		}
		t.Run(p.Name, func(t *testing.T) {
			t.Parallel()
			built := p.Build(t)
			names := backtrace(t, gdb, built)
			if err := built.Match(names); err != nil {
				t.Error(err)
			}
		})
	}
}

// backtrace stops the program where its chain's last own function begins and
// returns the names that gdb has for the stack, root first.
func backtrace(t *testing.T, gdb string, built Built) []string {
	t.Helper()
	leaf := built.Chain[len(built.Chain)-1]
	if leaf == Gap {
		leaf = built.Chain[len(built.Chain)-2]
	}
	args := []string{"-nx", "-batch"}
	for _, command := range []string{
		"set width 0",
		"set debuginfod enabled off",
		"set startup-with-shell off",
		"set breakpoint pending on",
		"set follow-fork-mode child",
		"handle SIGSEGV SIGPROF SIGURG nostop noprint pass",
		"break '" + leaf + "'",
		"run 20",
		"backtrace",
		"kill",
	} {
		args = append(args, "-ex", command)
	}
	output, err := exec.Command(gdb, append(args, built.Path)...).CombinedOutput()
	if strings.Contains(string(output), "ptrace: Operation not permitted") {
		t.Skip("ptrace is not permitted here")
	}
	if err != nil {
		t.Fatalf("gdb: %v\n%s", err, output)
	}
	var names []string
	for _, frame := range gdbFrame.FindAllStringSubmatch(string(output), -1) {
		names = append([]string{frame[1]}, names...)
	}
	if len(names) == 0 {
		t.Fatalf("gdb shows no backtrace:\n%s", output)
	}
	return names
}
