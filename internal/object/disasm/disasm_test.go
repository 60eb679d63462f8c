package disasm

import (
	"debug/elf"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/internal/testkit/fuzzing"
)

// The bytes and texts are those of objdump -d. x86asm has other lengths or texts for them.
func TestInstructionsAreThoseOfObjdump(t *testing.T) {
	for _, test := range []struct {
		machine elf.Machine
		syntax  Syntax
		code    string
		want    string
	}{
		{elf.EM_X86_64, ATT, "f30f1efa", "endbr64"},
		{elf.EM_X86_64, ATT, "c5f877", "vzeroupper"},
		{elf.EM_X86_64, ATT, "0f01ee", "rdpkru"},
		{elf.EM_X86_64, ATT, "488985f8feffff", "mov    %rax,-0x108(%rbp)"},
		{elf.EM_X86_64, ATT, "498b442408", "mov    0x8(%r12),%rax"},
		{elf.EM_X86_64, ATT, "4898", "cltq"},
		{elf.EM_X86_64, ATT, "c3", "ret"},
		{elf.EM_X86_64, ATT, "c5fd6f06", "vmovdqa (%rsi),%ymm0"},
		{elf.EM_X86_64, ATT, "644803042500000000", "add    %fs:0x0,%rax"},
		{elf.EM_X86_64, ATT, "f348ab", "rep stos %rax,%es:(%rdi)"},
		{elf.EM_X86_64, ATT, "f00fb111", "lock cmpxchg %edx,(%rcx)"},
		{elf.EM_X86_64, ATT, "06", "(bad)"},
		{elf.EM_X86_64, Intel, "488985f8feffff", "mov    qword ptr [rbp-0x108], rax"},
		{elf.EM_386, ATT, "8b4508", "mov    0x8(%ebp),%eax"},
		{elf.EM_AARCH64, ATT, "fd7bbfa9", "stp    x29, x30, [sp, #-16]!"},
		{elf.EM_AARCH64, ATT, "ffffffff", ".inst  0xffffffff"},
	} {
		code, err := hex.DecodeString(test.code)
		if err != nil {
			t.Fatal(err)
		}
		d := Decoder{Machine: test.machine, Syntax: test.syntax}
		got := d.Function(code, 0x1000)
		if len(got) != 1 || got[0].Text != test.want || got[0].Len != len(code) {
			t.Errorf("%v %s: %+v, want %q", test.machine, test.code, got, test.want)
		}
	}
}

func TestAddressesHaveNames(t *testing.T) {
	names := func(address uint64) (string, uint64) {
		switch {
		case address >= 0x900 && address < 0x1100:
			return "function", 0x900
		case address >= 0x2000 && address < 0x2010:
			return "malloc@plt", 0x2000
		case address >= 0x4000 && address < 0x4008:
			return "Total", 0x4000 // whose case is kept
		}
		return "", 0
	}
	for _, test := range []struct {
		machine elf.Machine
		code    string
		want    string
		target  uint64
		jumps   bool
	}{
		{elf.EM_X86_64, "e8fb0f0000", "call   malloc@plt", 0x2000, false},
		{elf.EM_X86_64, "e9fb0f0000", "jmp    malloc@plt", 0x2000, true},
		{elf.EM_X86_64, "e9fc0f0000", "jmp    malloc@plt+0x1", 0x2001, true},
		{elf.EM_X86_64, "7400", "je     function+0x702", 0x1002, true}, // after the code that is decoded
		{elf.EM_X86_64, "74fe", "je     1000", 0x1000, true},           // within it
		{elf.EM_X86_64, "488b05f92f0000", "mov    0x2ff9(%rip),%rax  # 4000 <Total>", 0, false},
		{elf.EM_X86_64, "488d05f93f0000", "lea    0x3ff9(%rip),%rax  # 5000", 0, false},
		{elf.EM_X86_64, "488d0df9efffff", "lea    -0x1007(%rip),%rcx  # 0", 0, false},
		{elf.EM_AARCH64, "00040094", "bl     malloc@plt", 0, false},
		{elf.EM_AARCH64, "00040014", "b      malloc@plt", 0x2000, true},
		{elf.EM_AARCH64, "00000014", "b      1000", 0x1000, true},
		{elf.EM_AARCH64, "80ffff54", "b.eq   function+0x6f0", 0xff0, true},
		{elf.EM_AARCH64, "20000090", "adrp   x0, 5000", 0, false},
		{elf.EM_AARCH64, "00800118", "ldr    w0, 4000 <Total>", 0, false},
	} {
		code, err := hex.DecodeString(test.code)
		if err != nil {
			t.Fatal(err)
		}
		d := Decoder{Machine: test.machine, Name: names}
		got := d.Function(code, 0x1000)[0]
		if got.Text != test.want || got.Jumps != test.jumps || test.jumps && got.Target != test.target {
			t.Errorf("%v %s: %+v, want %q, %#x", test.machine, test.code, got, test.want, test.target)
		}
	}
}

// Each byte belongs to one instruction, whatever the bytes are.
func FuzzFunction(f *testing.F) {
	fuzzing.Bound(f)
	f.Add([]byte("\xf3\x0f\x1e\xfa\x55\x48\x89\xe5\xc5\xf8\x77\xc3"), byte(0))
	f.Add([]byte("\xfd\x7b\xbf\xa9\x00\x04\x00\x94\xc0\x03\x5f\xd6\x00"), byte(1))
	f.Add([]byte("\x8b\x45\x08\xe8\x00\x00\x00\x00\xc3"), byte(2))
	machines := []elf.Machine{elf.EM_X86_64, elf.EM_AARCH64, elf.EM_386}
	f.Fuzz(func(t *testing.T, code []byte, machine byte) {
		const start = 0x401000
		for _, syntax := range []Syntax{ATT, Intel} {
			d := Decoder{Machine: machines[int(machine)%len(machines)], Syntax: syntax,
				Name: func(address uint64) (string, uint64) { return "name", address &^ 0xff }}
			at := uint64(start)
			for _, inst := range d.Function(code, start) {
				if inst.Address != at || inst.Len < 1 || inst.Text == "" || strings.Contains(inst.Text, "\n") {
					t.Fatalf("at %#x: %+v", at, inst)
				}
				at += uint64(inst.Len)
			}
			if at != start+uint64(len(code)) {
				t.Fatalf("%d bytes were decoded of %d", at-start, len(code))
			}
		}
	})
}
