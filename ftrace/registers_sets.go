package ftrace

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ringtap/ringtap/internal/names"
)

// registerSet is the registers of an architecture.
type registerSet struct {
	arch  string
	names []string // as the kernel writes them (regs_query_register_offset)
	// arguments are the registers of a function's first arguments, and
	// stackArguments is the word of the stack that holds the first further one
	// at the function's entry.
	arguments      []string
	stackArguments uint64
	// short says that the words of the stack have 32 bits, which the kernel's own $stackN
	// does not know: it counts and reads words of 64.
	short bool
	// alias are the assembler's names of whole registers and parts of them.
	alias map[string]registerPart
	// foreign are the names of another architecture's registers that have the
	// same use at a function's entry; foreignReturn at its return.
	foreign, foreignReturn map[string]string
}

// registerPart is a register, or its lower bits.
type registerPart struct {
	name    string
	bits    int
	foreign bool
}

// registers returns the registers of an architecture, nil if it is unknown.
func registers(arch string) *registerSet {
	switch arch {
	case "amd64":
		return amd64Registers()
	case "arm64":
		return arm64Registers()
	case "386":
		return i386Registers()
	}
	return nil
}

// i386Registers are those of a 32-bit program on a 64-bit kernel, whose functions find
// their arguments on the stack (System V psABI for i386, 2.2.2).
func i386Registers() *registerSet {
	s := &registerSet{
		arch:           "386",
		names:          []string{"ax", "bx", "cx", "dx", "si", "di", "bp", "sp", "ip", "cs", "ss", "flags", "orig_ax"},
		stackArguments: 1, // behind the return address
		alias:          map[string]registerPart{"eip": {name: "ip", bits: 64}, "eflags": {name: "flags", bits: 64}},
		short:          true,
	}
	for _, name := range []string{"ax", "bx", "cx", "dx", "si", "di", "bp", "sp"} {
		s.alias["e"+name] = registerPart{name: name, bits: 64} // whose upper half is zero
	}
	for _, name := range []string{"a", "b", "c", "d"} {
		s.alias[name+"l"] = registerPart{name: name + "x", bits: 8}
	}
	return s
}

func amd64Registers() *registerSet {
	return &registerSet{
		arch: "amd64",
		names: []string{ // arch/x86/kernel/ptrace.c, regoffset_table
			"ax", "bx", "cx", "dx", "si", "di", "bp", "sp", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15",
			"ip", "cs", "ss", "flags", "orig_ax",
		},
		arguments:      []string{"di", "si", "dx", "cx", "r8", "r9"},
		stackArguments: 1, // behind the return address
		alias:          amd64Aliases(),
	}
}

func arm64Registers() *registerSet {
	return &registerSet{
		arch: "arm64",
		names: append(numbered("x", 31), // arch/arm64/kernel/ptrace.c, regoffset_table
			"lr", "sp", "pc", "pstate"),
		arguments: numbered("x", 8),
		alias:     arm64Aliases(),
		foreign: map[string]string{
			"di": "x0", "si": "x1", "dx": "x2", "cx": "x3", "r8": "x4", "r9": "x5", "sp": "sp", "bp": "x29", "ip": "pc",
		},
		foreignReturn: map[string]string{"ax": "x0", "dx": "x1", "sp": "sp", "bp": "x29", "ip": "pc"},
	}
}

// find returns the register of that name.
func (s *registerSet) find(name string, isReturn bool) (registerPart, error) {
	if slices.Contains(s.names, name) {
		return registerPart{name: name, bits: 64}, nil
	}
	if part, ok := s.alias[name]; ok {
		return part, nil
	}
	if s.foreign != nil {
		foreign := s.foreign
		if isReturn {
			foreign = s.foreignReturn
		}
		if part, err := amd64Registers().find(name, isReturn); err == nil {
			own, ok := foreign[part.name]
			if !ok {
				return registerPart{}, fmt.Errorf("amd64's %%%s stands for nothing that %s has there; %w", name, s.arch, s.unknown(name))
			}
			return registerPart{name: own, bits: part.bits, foreign: true}, nil
		}
	}
	return registerPart{}, s.unknown(name)
}

func (s *registerSet) unknown(name string) *RegisterError {
	const most = 3
	limit := 1 // edits; a short name is near to everything
	if len(name) > 3 {
		limit = 2
	}
	near := names.NewNearest(name, limit, most, nil)
	for _, candidate := range s.names {
		near.Add(candidate)
	}
	return &RegisterError{Name: name, Arch: s.arch, All: s.names, Near: near.Names()}
}

// part makes the argument print the part of the register that was asked for,
// or says why it does not.
func (r registerPart) part(arg *FetchArg, source string, isAddress bool) string {
	if r.bits == 64 {
		return ""
	}
	if isAddress {
		return fmt.Sprintf("%s: an address has 64 bits, so all of %%%s is taken for %s", arg.Name, r.name, source)
	}
	if arg.Type == "" {
		arg.Type = fmt.Sprintf("x%d", r.bits)
		return ""
	}
	if strings.Contains(arg.Type, "64") {
		return fmt.Sprintf("%s: %s has %d bits; the others that %s shows are what else is in %%%s", arg.Name, source, r.bits, arg.Type, r.name)
	}
	return ""
}

func amd64Aliases() map[string]registerPart {
	alias := map[string]registerPart{
		"rip": {name: "ip", bits: 64}, "eip": {name: "ip", bits: 32}, "pc": {name: "ip", bits: 64},
		"rflags": {name: "flags", bits: 64}, "eflags": {name: "flags", bits: 32},
	}
	for _, name := range []string{"ax", "bx", "cx", "dx", "si", "di", "bp", "sp"} {
		alias["r"+name] = registerPart{name: name, bits: 64}
		alias["e"+name] = registerPart{name: name, bits: 32}
		alias[strings.TrimSuffix(name, "x")+"l"] = registerPart{name: name, bits: 8}
	}
	for n := 8; n < 16; n++ {
		name := fmt.Sprintf("r%d", n)
		alias[name+"d"] = registerPart{name: name, bits: 32}
		alias[name+"w"] = registerPart{name: name, bits: 16}
		alias[name+"b"] = registerPart{name: name, bits: 8}
	}
	return alias
}

func arm64Aliases() map[string]registerPart {
	alias := map[string]registerPart{"fp": {name: "x29", bits: 64}}
	for n := range 31 {
		alias[fmt.Sprintf("w%d", n)] = registerPart{name: fmt.Sprintf("x%d", n), bits: 32}
	}
	return alias
}

func numbered(prefix string, n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("%s%d", prefix, i)
	}
	return names
}
