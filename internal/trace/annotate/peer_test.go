package annotate

import (
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// instruction is the start of an instruction's line in objdump's text.
var instruction = regexp.MustCompile(`(?m)^\s+([0-9a-f]+):\t`)

// A recording of either architecture is annotated on any host. Its instructions are objdump's, and their
// places addr2line's.
func TestPeerTheCodeIsObjdumpsAndItsLinesAddr2lines(t *testing.T) {
	for _, test := range []struct{ machine, prefix string }{{"x86_64", ""}, {"aarch64", "aarch64-linux-gnu-"}} {
		t.Run(test.machine, func(t *testing.T) {
			for _, tool := range []string{"objdump", "addr2line"} {
				if _, err := exec.LookPath(test.prefix + tool); err != nil {
					t.Skipf("%s is not installed", test.prefix+tool)
				}
			}
			compiler := test.prefix + "gcc"
			p := compile(t, compiler)
			for _, function := range []string{"compute", "unrolled"} {
				path := p.record(t, test.machine, p.hits(function, 0, 4)...)
				l, err := run(t, path, Options{Function: function})
				if err != nil {
					t.Fatal(err)
				}
				var got, want []string
				for i := range l.Code {
					got = append(got, fmt.Sprintf("%x", l.Code[i].Address))
				}
				for _, m := range instruction.FindAllStringSubmatch(output(t, test.prefix+"objdump", "-d", "--no-show-raw-insn", "--disassemble="+function, p.path), -1) {
					want = append(want, m[1])
				}
				if !slices.Equal(got, want) {
					t.Errorf("%s: instructions at %v\nobjdump has them at %v", function, got, want)
				}
				for i := range l.Code {
					checkPlace(t, test.prefix+"addr2line", p.path, &l.Code[i])
				}
			}
		})
	}
}

// checkPlace compares an instruction's place with addr2line's: two lines for each function, the innermost
// first, its name and its place.
func checkPlace(t *testing.T, addr2line, path string, inst *Instruction) {
	t.Helper()
	lines := strings.Split(output(t, addr2line, "-i", "-f", "-e", path, strconv.FormatUint(inst.Address, 16)), "\n")
	var inlined []string
	for i := 0; i+3 < len(lines); i += 2 {
		inlined = append(inlined, lines[i])
	}
	place, _, _ := strings.Cut(lines[1], " (")
	s := inst.Source
	if s == nil || fmt.Sprintf("%s:%d", s.File, s.Line) != place || !slices.Equal(s.Inlined, inlined) {
		t.Errorf("%#x: %+v, addr2line has %q", inst.Address, s, lines)
	}
	if len(inlined) > 0 {
		if call, _, _ := strings.Cut(lines[2*len(inlined)+1], " ("); fmt.Sprintf("%s:%d", s.Call.File, s.Call.Line) != call {
			t.Errorf("%#x: called at %v, addr2line has %q", inst.Address, s.Call, lines)
		}
	}
}

func output(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(name, args...).Output()
	if err != nil {
		t.Fatalf("%s %q: %v", name, args, err)
	}
	return strings.TrimSuffix(string(out), "\n")
}
