package callchain

import (
	"debug/elf"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/internal/testkit/compiled"
)

// buildGo builds a Go program of testdata and returns its path, which is shared.
func buildGo(t *testing.T, env []string, source string, flags ...string) string {
	t.Helper()
	dir := compiled.Recipe{
		Sources:  compiled.Sources(t, filepath.Join("testdata", source)),
		Commands: [][]string{append(append([]string{goCommand(t), "build", "-o", "program"}, flags...), source)},
		Env:      env,
	}.Dir(t)
	return filepath.Join(dir, "program")
}

// compareGo compares the table of a Go program with the .debug_frame that the
// linker made of the same function table. That has no rule for the frame
// pointer, and takes functions that end a chain, switch to another stack or return from
// a signal for common ones.
func compareGo(t *testing.T, path, described string) {
	t.Helper()
	table := compileFile(t, path)
	f, err := elf.Open(described)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	right, wrong, none := 0, 0, 0
	for _, row := range readelfRows(t, described) {
		if row.end <= row.start {
			continue
		}
		set := table.find(fileOffset(f, row.start))
		if set == nil || set.ra.kind == ruleUndefined || set.flags&(flagSignal|flagSwitch|flagUnknown) != 0 || row.rules["ra"] == "u" {
			none++
			continue
		}
		got := describeSet(table, set)
		ra := strings.Replace(row.rules["ra"], "s", "u", 1) // in the link register still
		if got["CFA"] == row.rules["CFA"] && got["ra"] == ra {
			right++
		} else if wrong++; wrong <= 5 {
			t.Errorf("%s at %#x: %v, readelf has %v", path, row.start, got, row.rules)
		}
	}
	t.Logf("%d rows equal, %d not, %d without a caller that the stack tells", right, wrong, none)
	if right < 5000 || none*20 > right {
		t.Errorf("%d rows equal, %d have no rule", right, none)
	}
}

func TestPeerGoTablesEqualDebugFrame(t *testing.T) {
	for _, test := range []struct {
		name  string
		env   []string
		flags []string
	}{
		{"static", []string{"CGO_ENABLED=0"}, nil},
		{"position independent", []string{"CGO_ENABLED=0"}, []string{"-buildmode=pie"}},
		{"arm64", []string{"CGO_ENABLED=0", "GOARCH=arm64"}, nil},
		{"linked by gcc", []string{"CGO_ENABLED=1"}, []string{"-ldflags=-linkmode=external"}},
		{"position independent, linked by gcc", []string{"CGO_ENABLED=1"}, []string{"-buildmode=pie", "-ldflags=-linkmode=external"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			program := buildGo(t, test.env, "gohello.go", test.flags...)
			compareGo(t, program, program)
			if test.name == "arm64" {
				return // strip knows its own machine only
			}
			if _, err := exec.LookPath("strip"); err != nil {
				t.Skip("strip is missing")
			}
			stripped := filepath.Join(t.TempDir(), "stripped")
			if out, err := exec.Command("strip", "-o", stripped, program).CombinedOutput(); err != nil {
				t.Fatalf("strip: %v\n%s", err, out)
			}
			compareGo(t, stripped, program)
		})
	}
}
