package arch

import "debug/elf"

// i386's registers, for a 32-bit program on an amd64 kernel. The kernel has them under amd64's
// names, and perf under amd64's numbers. Sources:
//
//   - DWARF numbers: System V psABI for i386, table 2.14; 8 is the return address
//   - offsets: struct user_regs_struct32 in arch/x86/include/asm/user32.h
var (
	EAX = &Register{"ax", 0, 0, 0, 24, []Part{{"eax", 32, 0}, {"ax", 16, 0}, {"al", 8, 0}, {"ah", 8, 8}}}
	EBX = &Register{"bx", 1, 3, 3, 0, []Part{{"ebx", 32, 0}, {"bx", 16, 0}, {"bl", 8, 0}, {"bh", 8, 8}}}
	ECX = &Register{"cx", 2, 1, 1, 4, []Part{{"ecx", 32, 0}, {"cx", 16, 0}, {"cl", 8, 0}, {"ch", 8, 8}}}
	EDX = &Register{"dx", 3, 2, 2, 8, []Part{{"edx", 32, 0}, {"dx", 16, 0}, {"dl", 8, 0}, {"dh", 8, 8}}}
	ESI = &Register{"si", 4, 6, 6, 12, []Part{{"esi", 32, 0}, {"si", 16, 0}}}
	EDI = &Register{"di", 5, 7, 7, 16, []Part{{"edi", 32, 0}, {"di", 16, 0}}}
	EBP = &Register{"bp", 6, 5, 5, 20, []Part{{"ebp", 32, 0}, {"bp", 16, 0}}}
	ESP = &Register{"sp", 7, 4, 4, 60, []Part{{"esp", 32, 0}, {"sp", 16, 0}}}

	EIP = &Register{"ip", 8, 8, None, 48, []Part{{"eip", 32, 0}}}

	cs32    = &Register{"cs", 10, None, None, 52, nil}
	ss32    = &Register{"ss", 11, None, None, 64, nil}
	flags32 = &Register{"flags", 9, None, None, 56, []Part{{"eflags", 32, 0}}}
	origEAX = &Register{"orig_ax", None, None, None, 44, nil}
)

// I386 is a 32-bit program on an amd64 kernel. C is the System V psABI for i386, sections 2.2.1
// and 2.2.2, which passes all arguments on the stack.
var I386 = &Machine{
	Name: "386", ELF: elf.EM_386, Word: 4,
	Registers: []*Register{EAX, EBX, ECX, EDX, ESI, EDI, EBP, ESP, EIP, cs32, ss32, flags32, origEAX},
	PC:        EIP, SP: ESP, FP: EBP, CallPushes: 4,
	RegisterSet: 17 * 4,
	C:           Convention{Results: []*Register{EAX, EDX}, Preserved: []*Register{EBX, EBP, ESI, EDI}},
}
