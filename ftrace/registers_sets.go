package ftrace

import (
	"fmt"
	"strings"

	"github.com/ringtap/ringtap/internal/arch"
	"github.com/ringtap/ringtap/internal/text/match"
)

type registerSet struct {
	*arch.Machine
	// short says that the words of the stack have 32 bits. The kernel's own $stackN does not
	// support that: it reads words of 64 bits.
	short bool
	// foreign maps amd64 register names to this machine's registers with the same use at a
	// function's entry. foreignReturn does so for its return.
	foreign, foreignReturn map[string]string
}

// registerPart is a register, or its lower bits.
type registerPart struct {
	name    string
	bits    int
	foreign bool
}

// registers returns the registers of the machine with this GOARCH name, or nil if it is
// unknown.
func registers(name string) *registerSet {
	m := arch.Named(name)
	if m == nil {
		return nil
	}
	s := &registerSet{Machine: m, short: m.Word < 8}
	if m == arch.ARM64 {
		s.foreign = counterparts(m, arch.AMD64.C.Arguments, m.C.Arguments)
		s.foreignReturn = counterparts(m, arch.AMD64.C.Results, m.C.Results)
	}
	return s
}

// counterparts maps names of amd64 registers to the registers of m with the same use: from[i]
// to to[i], and the stack, frame and instruction pointers.
func counterparts(m *arch.Machine, from, to []*arch.Register) map[string]string {
	names := map[string]string{
		arch.RSP.Name: m.SP.Name, arch.RBP.Name: m.FP.Name, arch.RIP.Name: m.PC.Name,
	}
	for i, r := range from {
		names[r.Name] = to[i].Name
	}
	return names
}

func (s *registerSet) find(name string, isReturn bool) (registerPart, error) {
	if s.Register(name) != nil {
		return registerPart{name: name, bits: 64}, nil
	}
	if r, part, ok := s.Part(name); ok && part.Shift == 0 {
		if int(part.Bits) == 8*s.Word {
			return registerPart{name: r.Name, bits: 64}, nil // an i386 register, whose upper half is zero
		}
		return registerPart{name: r.Name, bits: int(part.Bits)}, nil
	}
	if s.foreign != nil {
		foreign := s.foreign
		if isReturn {
			foreign = s.foreignReturn
		}
		if part, err := (&registerSet{Machine: arch.AMD64}).find(name, isReturn); err == nil {
			own, ok := foreign[part.name]
			if !ok {
				return registerPart{}, fmt.Errorf("amd64's %%%s stands for nothing that %s has there; %w", name, s.Name, s.unknown(name))
			}
			return registerPart{name: own, bits: part.bits, foreign: true}, nil
		}
	}
	return registerPart{}, s.unknown(name)
}

func (s *registerSet) unknown(name string) *RegisterError {
	const most = 3
	limit := 1 // edits; a short name is close to everything
	if len(name) > 3 {
		limit = 2
	}
	near := match.NewNearest(name, limit, most, nil)
	all := make([]string, len(s.Registers))
	for i, r := range s.Registers {
		all[i] = r.Name
		near.Add(r.Name)
	}
	return &RegisterError{Name: name, Arch: s.Name, All: all, Near: near.Names()}
}

// part restricts the argument to the requested part of the register, or returns a note that
// says why not.
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
