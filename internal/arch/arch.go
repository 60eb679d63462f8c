// Package arch holds the registers and the calling conventions of the architectures whose
// programs ringtap profiles. Each fact is in one place: a [Register] is a row of a table, and a
// [Convention] has lists of registers.
//
// Code for the machine that ringtap runs on uses [Here]. Code that reads files and recordings
// of other machines calls [Named] or [OfELF].
package arch

import (
	"debug/elf"
	"slices"
)

// Register is a register of a machine.
type Register struct {
	Name  string // as in fetch arguments of kernel probes: "di", "x0"
	Perf  uint8  // its number in masks of sampled registers (perf_event_attr.sample_regs_user), or None
	DWARF uint8  // its number in debug information and call frame information, or None
	Code  uint8  // its number in machine code, or None if it is not a general register
	// Offset is the register's offset in the kernel's struct pt_regs, in bytes. The register
	// set that ptrace(2) returns (NT_PRSTATUS) starts with the same layout.
	Offset uint16
	Parts  []Part
}

// None means that the register has no such number, or that ringtap does not need it.
const None = 0xff

// Part is a register, or some of its bits, under an assembler name.
type Part struct {
	Name  string
	Bits  uint8 // number of bits
	Shift uint8 // number of the lowest bit in the register
}

// Machine is an architecture.
type Machine struct {
	Name      string // as in GOARCH
	ELF       elf.Machine
	Word      int         // size of an address in bytes
	Registers []*Register // in the order in which messages list them

	PC, SP, FP *Register
	LR         *Register // holds the return address at a function's entry; nil if a call pushes it
	CallPushes int       // bytes of the return address that a call pushes

	RegisterSet int         // size of the register set NT_PRSTATUS in bytes
	Syscall     []*Register // the arguments of a system call
	// SyscallPrefix is the prefix of the kernel functions that implement system calls. Their
	// argument points to a struct pt_regs (asm/syscall_wrapper.h).
	SyscallPrefix string
	Goroutine     *Register  // holds g, the running goroutine, in compiled Go code
	C, Go         Convention // Go is ABIInternal
}

// Convention says in which registers values are passed.
type Convention struct {
	Arguments []*Register // for integers and pointers, starting with the first argument
	Floats    int         // number of registers for floating-point arguments
	Results   []*Register // for integers and pointers, starting with the first word
	Preserved []*Register // unchanged by a call, in addition to SP
}

var machines = []*Machine{AMD64, ARM64, I386}

// Named returns the machine whose GOARCH is name, or nil if it is unknown.
func Named(name string) *Machine {
	return find(machines, func(m *Machine) bool { return m.Name == name })
}

// OfELF returns the machine for ELF files with this machine type, or nil if it is unknown.
func OfELF(machine elf.Machine) *Machine {
	return find(machines, func(m *Machine) bool { return m.ELF == machine })
}

// Mask returns the perf mask (sample_regs_user) of registers. Registers that perf does not
// sample are ignored.
func Mask(registers ...*Register) (mask uint64) {
	for _, r := range registers {
		mask |= 1 << r.Perf
	}
	return mask
}

// Register returns the register with the kernel's name, or nil if there is none.
func (m *Machine) Register(name string) *Register {
	return find(m.Registers, func(r *Register) bool { return r.Name == name })
}

// Part returns the register, or part of one, with the assembler's name.
func (m *Machine) Part(name string) (*Register, Part, bool) {
	for _, r := range m.Registers {
		for _, p := range r.Parts {
			if p.Name == name {
				return r, p, true
			}
		}
	}
	return nil, Part{}, false
}

// ByPerf returns the register with perf's number n, or nil if there is none.
func (m *Machine) ByPerf(n int) *Register {
	return find(m.Registers, func(r *Register) bool { return r.Perf != None && int(r.Perf) == n })
}

// ByDWARF returns the register with DWARF number n, or nil if there is none.
func (m *Machine) ByDWARF(n int) *Register {
	return find(m.Registers, func(r *Register) bool { return r.DWARF != None && int(r.DWARF) == n })
}

// ByCode returns the general register with number n in machine code, or nil if there is none.
func (m *Machine) ByCode(n int) *Register {
	return find(m.Registers, func(r *Register) bool { return r.Code != None && int(r.Code) == n })
}

// find returns the first element for which ok returns true, nil if there is none.
func find[T any](list []*T, ok func(*T) bool) *T {
	if i := slices.IndexFunc(list, ok); i >= 0 {
		return list[i]
	}
	return nil
}
