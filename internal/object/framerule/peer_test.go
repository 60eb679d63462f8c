package framerule_test

import (
	"debug/elf"
	"fmt"
	"math"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/internal/object/elfimage"
	"github.com/ringtap/ringtap/internal/object/framerule"
)

// registers are readelf's names of DWARF's registers on amd64.
var registers = strings.Fields("rax rdx rcx rbx rsi rdi rbp rsp r8 r9 r10 r11 r12 r13 r14 r15")

var row = regexp.MustCompile(`(?m)^([0-9a-f]{16}) (r[a-z0-9]+)\+(\d+) `)

// The rules are those that readelf reads from the same tables.
func TestRulesAreThoseOfReadelf(t *testing.T) {
	if _, err := exec.LookPath("readelf"); err != nil {
		t.Skip("no readelf")
	}
	for _, path := range []string{"/bin/ls", "/usr/bin/make", "/lib/x86_64-linux-gnu/libm.so.6"} {
		f, err := elf.Open(path)
		if err != nil {
			t.Log(err)
			continue
		}
		defer f.Close()
		if f.Machine != elf.EM_X86_64 {
			continue
		}
		file, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		image, err := elfimage.New(file, math.MaxInt64)
		if err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command("readelf", "--debug-dump=frames-interp", path).Output()
		if len(out) == 0 { // it complains of a debug file that is not there, and goes on
			t.Fatal(err)
		}
		rows := row.FindAllStringSubmatch(string(out), -1)
		step := max(len(rows)/500, 1)
		compared := 0
		for i := 0; i < len(rows); i += step {
			addr, _ := strconv.ParseUint(rows[i][1], 16, 64)
			if addr == 0 || i+1 < len(rows) && rows[i+1][1] == rows[i][1] {
				continue // of no instruction
			}
			want := rows[i][2] + "+" + rows[i][3]
			rule, err := framerule.Find(image, addr)
			got := fmt.Sprint(err)
			if err == nil && rule.Register < uint64(len(registers)) {
				got = fmt.Sprintf("%s+%d", registers[rule.Register], rule.Offset)
			}
			if compared++; got != want {
				t.Errorf("%s, %#x: %s, want %s", path, addr, got, want)
			}
		}
		t.Logf("%s: %d rules", path, compared)
		if compared < 50 {
			t.Errorf("%s: %d rules compared", path, compared)
		}
	}
}
