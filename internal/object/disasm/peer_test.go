package disasm

import (
	"debug/elf"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/internal/testkit/compiled"
)

// theirs is an instruction of objdump -d --no-show-raw-insn: "    1193:\tje     11f0 <compute+0x60>".
var theirs = regexp.MustCompile(`^\s+([0-9a-f]+):\t([^\t ]+)(.*)`)

// jump is the operand of a direct jump in objdump's text, on arm64 after others.
var jump = regexp.MustCompile(`(?:^|[\t ,])([0-9a-f]+) <`)

// notation has other names than objdump's: x/arch writes some instructions without their alias, and
// does not know the atomic ones of arm64.
var notation = map[string]string{"movabs": "mov", "cs": "nopw", "ldaddal": ".inst"}

func TestPeerInstructionsJumpsAndNamesAreThoseOfObjdump(t *testing.T) {
	for _, test := range []struct{ name, objdump, compile string }{
		{"amd64", "objdump", "gcc -O2"},
		{"vectors", "objdump", "gcc -O3 -mavx2 -mfma"},
		{"branch protection", "objdump", "gcc -O2 -fcf-protection=full -fno-omit-frame-pointer"},
		{"arm64", "aarch64-linux-gnu-objdump", "aarch64-linux-gnu-gcc -O2"},
		{"arm64 vectors", "aarch64-linux-gnu-objdump", "aarch64-linux-gnu-gcc -O3"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if _, err := exec.LookPath(test.objdump); err != nil {
				t.Skipf("%s is not installed", test.objdump)
			}
			path := compiled.Program(t, compiled.Sources(t, "testdata/code.c"), append(strings.Fields(test.compile), "-o", "code", "code.c")...)
			out, err := exec.Command(test.objdump, "-d", "-j", ".text", "--no-show-raw-insn", path).Output()
			if err != nil {
				t.Fatal(err)
			}
			got := decoded(t, path)
			n := 0
			for line := range strings.Lines(string(out)) {
				m := theirs.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
				if m == nil {
					continue
				}
				address, err := strconv.ParseUint(m[1], 16, 64)
				if err != nil {
					t.Fatal(err)
				}
				inst, ok := got[address]
				if !ok {
					t.Fatalf("no instruction at %#x: objdump has %s%s", address, m[2], m[3])
				}
				delete(got, address)
				n++
				if name, _, _ := strings.Cut(inst.Text, " "); name != m[2] && name != notation[m[2]] {
					t.Errorf("%#x: %q, objdump has %s%s", address, inst.Text, m[2], m[3])
				}
				if to := jump.FindStringSubmatch(m[3]); to != nil && inst.Jumps && to[1] != strconv.FormatUint(inst.Target, 16) {
					t.Errorf("%#x: %q to %#x, objdump has %s%s", address, inst.Text, inst.Target, m[2], m[3])
				}
				if strings.HasPrefix(m[2], "j") && jump.MatchString(m[3]) && !inst.Jumps {
					t.Errorf("%#x: %q does not jump", address, inst.Text)
				}
			}
			if len(got) > 0 || n < 200 {
				t.Errorf("objdump has %d instructions, and not these: %v", n, got)
			}
		})
	}
}

// decoded returns the instructions of a program's .text by address.
func decoded(t *testing.T, path string) map[uint64]Inst {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	text := f.Section(".text")
	code, err := text.Data()
	if err != nil {
		t.Fatal(err)
	}
	all := make(map[uint64]Inst)
	d := Decoder{Machine: f.Machine}
	for _, inst := range d.Function(code, text.Addr) {
		all[inst.Address] = inst
	}
	return all
}
