package disasm

import (
	"bytes"
	"debug/elf"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/arch/x86/x86asm"
)

// fixed are instructions that x86asm does not know (the markers of valid jump targets,
// protection keys), or takes for longer ones.
var fixed = []struct {
	code []byte
	text string
}{
	{[]byte{0xf3, 0x0f, 0x1e, 0xfa}, "endbr64"},
	{[]byte{0xf3, 0x0f, 0x1e, 0xfb}, "endbr32"},
	{[]byte{0x0f, 0x01, 0xee}, "rdpkru"},
	{[]byte{0x0f, 0x01, 0xef}, "wrpkru"},
	{[]byte{0xc5, 0xf8, 0x77}, "vzeroupper"},
	{[]byte{0xc5, 0xfc, 0x77}, "vzeroall"},
}

// x86 decodes the first instruction of code.
func (d *Decoder) x86(w within, code []byte, address uint64) Inst {
	for _, f := range fixed {
		if bytes.HasPrefix(code, f.code) {
			return Inst{Address: address, Len: len(f.code), Text: f.text}
		}
	}
	mode := 64
	if d.Machine == elf.EM_386 {
		mode = 32
	}
	x, err := x86asm.Decode(code, mode)
	if err != nil || x.Len == 0 {
		return Inst{Address: address, Len: 1, Text: "(bad)"}
	}
	inst := Inst{Address: address, Len: x.Len}
	comment := ""
	for i, arg := range x.Args {
		switch arg := arg.(type) {
		case x86asm.Mem:
			if arg.Base != 0 || arg.Index != 0 {
				arg.Disp = int64(int32(arg.Disp)) // x86asm leaves displacements of 32 bits unsigned
			}
			if arg.Index == 0 {
				arg.Scale = 0 // else the text has an index %riz
			}
			x.Args[i] = arg
			if arg.Base == x86asm.RIP {
				comment = w.comment("#", address+uint64(x.Len)+uint64(arg.Disp))
			}
		case x86asm.Rel:
			inst.Target = address + uint64(x.Len) + uint64(arg)
			if mode == 32 {
				inst.Target &= 1<<32 - 1
			}
			inst.Jumps = x.Op != x86asm.CALL
		}
	}
	// The name of a target is asked for by its address: x86asm names only exact starts.
	name := func(at uint64) (string, uint64) {
		if _, direct := x.Args[0].(x86asm.Rel); !direct || at != inst.Target {
			return "", 0
		}
		return w.target(at, !inst.Jumps), at
	}
	if d.Syntax == Intel {
		inst.Text = padded(x86asm.IntelSyntax(x, address, name)) + comment
	} else {
		inst.Text = padded(respelled(x86asm.GNUSyntax(x, address, name))) + comment
	}
	return inst
}

// spellings has the instructions that x86asm names as no assembler of today does in AT&T syntax.
var spellings = map[string]string{
	"callq": "call", "retq": "ret", "jmpq": "jmp", "leaveq": "leave", "pushq": "push", "popq": "pop",
	"calll": "call", "retl": "ret", "jmpl": "jmp", "leavel": "leave", "pushl": "push", "popl": "pop",
	"cbw": "cbtw", "cwde": "cwtl", "cdqe": "cltq", "cwd": "cwtd", "cdq": "cltd", "cqo": "cqto", "movsxd": "movslq",
}

// forms has what x86asm takes for a prefix and an instruction, and the offset 0 that it leaves out.
var forms = strings.NewReplacer("data16 nop", "xchg %ax,%ax", "data32 nopw", "data16 nopw", "ds jmp", "notrack jmp", "ds call", "notrack call",
	"%fs:,", "%fs:0x0,", "%gs:,", "%gs:0x0,")

// respelled replaces the name of an instruction.
func respelled(text string) string {
	text = forms.Replace(text)
	op, operands, _ := strings.Cut(text, " ")
	if is := spellings[op]; is != "" {
		return is + " " + operands
	}
	return text
}

// prefixes are written before an instruction, without columns.
var prefixes = []string{"lock", "rep", "repz", "repnz", "repn", "notrack", "bnd", "data16", "addr32", "cs", "ds", "es", "ss", "fs", "gs"}

// padded aligns the operands as objdump does.
func padded(text string) string {
	op, operands, _ := strings.Cut(strings.TrimSpace(text), " ")
	switch {
	case operands == "":
		return op
	case slices.Contains(prefixes, op):
		return op + " " + operands
	}
	return fmt.Sprintf("%-6s %s", op, operands)
}
