package arch

import (
	"bytes"
	"cmp"
	"debug/elf"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/arch/x86/x86asm"
)

// compile compiles source for m. language is one of gcc's -x.
func compile(t *testing.T, m *Machine, language, source string) (object string) {
	t.Helper()
	object = filepath.Join(t.TempDir(), "out.o")
	gcc := exec.Command("gcc", "-x", language, "-c", "-o", object, "-")
	if m == I386 {
		gcc.Args = append(gcc.Args, "-m32", "-idirafter", "/usr/include/x86_64-linux-gnu")
	}
	gcc.Stdin = strings.NewReader(source)
	if out, err := gcc.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", m.Name, err, out)
	}
	return object
}

// here returns the machines that gcc compiles for on this one.
func here() []*Machine {
	if Here == AMD64 {
		return []*Machine{AMD64, I386}
	}
	return []*Machine{Here}
}

// whole returns the assembler's name of the whole register.
func whole(m *Machine, r *Register) string {
	for _, p := range r.Parts {
		if int(p.Bits) == 8*m.Word {
			return p.Name
		}
	}
	return r.Name
}

func TestPerfsNumbersAndOffsetsAreTheKernels(t *testing.T) {
	var c strings.Builder
	check := func(expression string, want int) {
		fmt.Fprintf(&c, "_Static_assert((int)(%s) == %d, \"\");\n", expression, want)
	}
	members := map[*Register]string{
		RFLAGS: "eflags", origRAX: "orig_rax", origEAX: "orig_eax", cs32: "xcs", ss32: "xss", xLR: "regs[30]",
	}
	for _, m := range here() {
		c.Reset()
		c.WriteString("#include <stddef.h>\n#include <sys/user.h>\n#include <asm/ptrace.h>\n#include <asm/perf_regs.h>\n")
		set, prefix := "struct user_regs_struct", "PERF_REG_X86_"
		if m == ARM64 {
			set, prefix = "struct user_pt_regs", "PERF_REG_ARM64_"
		}
		check("sizeof("+set+")", m.RegisterSet)
		for _, r := range m.Registers {
			member := cmp.Or(members[r], whole(m, r))
			if m == ARM64 && r.Code != None {
				member = fmt.Sprintf("regs[%d]", r.Code)
			}
			check("offsetof("+set+", "+member+")", int(r.Offset))
			switch {
			case r == m.LR:
				check(prefix+"LR", int(r.Perf))
			case r.Perf != None:
				check(prefix+strings.ToUpper(r.Name), int(r.Perf))
			}
		}
		compile(t, m, "c", c.String())
	}
}

func TestDWARFsNumbersAreTheAssemblers(t *testing.T) {
	for _, m := range here() {
		source := ".cfi_startproc\n"
		var want []byte
		for _, r := range m.Registers {
			if r.DWARF != None && r != Here.PC {
				source += ".cfi_undefined " + whole(m, r) + "\n"
				want = append(want, 0x07, r.DWARF) // DW_CFA_undefined
			}
		}
		file, err := elf.Open(compile(t, m, "assembler", source+"nop\n.cfi_endproc\n"))
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		if rules, err := file.Section(".eh_frame").Data(); err != nil || !bytes.Contains(rules, want) {
			t.Errorf("%s: %v, % x; want % x in it", m.Name, err, rules, want)
		}
	}
}

func TestNumbersOfX86InstructionsAreThoseOfADecoder(t *testing.T) {
	for n := range 16 {
		for m, first := range map[*Machine]x86asm.Reg{AMD64: x86asm.RAX, I386: x86asm.EAX} {
			if r, want := m.ByCode(n), (first + x86asm.Reg(n)).String(); r != nil && !strings.EqualFold(whole(m, r), want) || r == nil && (m == AMD64 || n < 8) {
				t.Errorf("%s: register %d is %v, want %s", m.Name, n, r, want)
			}
		}
	}
}

func TestEachNumberAndNameIsOfOneRegister(t *testing.T) {
	for _, m := range machines {
		numbers, names := map[string]bool{}, map[string]bool{}
		for _, r := range m.Registers {
			for column, n := range map[string]uint8{"perf": r.Perf, "DWARF": r.DWARF, "code": r.Code} {
				key := fmt.Sprint(column, n)
				if n != None && numbers[key] {
					t.Errorf("%s: two registers are %s", m.Name, key)
				}
				numbers[key] = true
			}
			for _, p := range r.Parts {
				if names[p.Name] {
					t.Errorf("%s: two parts are called %s", m.Name, p.Name)
				}
				names[p.Name] = true
			}
			if m.Register(r.Name) != r {
				t.Errorf("%s: another register is called %s", m.Name, r.Name)
			}
		}
		if Named(m.Name) != m || OfELF(m.ELF) != m {
			t.Errorf("%s is not found", m.Name)
		}
	}
}
