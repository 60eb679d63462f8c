package arch

import "debug/elf"

// amd64's registers. The kernel's ax is the assembler's rax; the assembler's ax is its lower 16
// bits. Sources:
//
//   - names: regoffset_table in arch/x86/kernel/ptrace.c
//   - perf numbers: arch/x86/include/uapi/asm/perf_regs.h
//   - DWARF numbers: System V psABI, figure 3.36; 16 is the return address, which unwinding turns
//     into the caller's ip
//   - offsets: struct pt_regs in arch/x86/include/uapi/asm/ptrace.h
var (
	RAX = &Register{"ax", 0, 0, 0, 80, []Part{{"rax", 64, 0}, {"eax", 32, 0}, {"ax", 16, 0}, {"al", 8, 0}, {"ah", 8, 8}}}
	RBX = &Register{"bx", 1, 3, 3, 40, []Part{{"rbx", 64, 0}, {"ebx", 32, 0}, {"bx", 16, 0}, {"bl", 8, 0}, {"bh", 8, 8}}}
	RCX = &Register{"cx", 2, 2, 1, 88, []Part{{"rcx", 64, 0}, {"ecx", 32, 0}, {"cx", 16, 0}, {"cl", 8, 0}, {"ch", 8, 8}}}
	RDX = &Register{"dx", 3, 1, 2, 96, []Part{{"rdx", 64, 0}, {"edx", 32, 0}, {"dx", 16, 0}, {"dl", 8, 0}, {"dh", 8, 8}}}
	RSI = &Register{"si", 4, 4, 6, 104, []Part{{"rsi", 64, 0}, {"esi", 32, 0}, {"si", 16, 0}, {"sil", 8, 0}}}
	RDI = &Register{"di", 5, 5, 7, 112, []Part{{"rdi", 64, 0}, {"edi", 32, 0}, {"di", 16, 0}, {"dil", 8, 0}}}
	RBP = &Register{"bp", 6, 6, 5, 32, []Part{{"rbp", 64, 0}, {"ebp", 32, 0}, {"bp", 16, 0}, {"bpl", 8, 0}}}
	RSP = &Register{"sp", 7, 7, 4, 152, []Part{{"rsp", 64, 0}, {"esp", 32, 0}, {"sp", 16, 0}, {"spl", 8, 0}}}
	R8  = &Register{"r8", 16, 8, 8, 72, []Part{{"r8", 64, 0}, {"r8d", 32, 0}, {"r8w", 16, 0}, {"r8b", 8, 0}}}
	R9  = &Register{"r9", 17, 9, 9, 64, []Part{{"r9", 64, 0}, {"r9d", 32, 0}, {"r9w", 16, 0}, {"r9b", 8, 0}}}
	R10 = &Register{"r10", 18, 10, 10, 56, []Part{{"r10", 64, 0}, {"r10d", 32, 0}, {"r10w", 16, 0}, {"r10b", 8, 0}}}
	R11 = &Register{"r11", 19, 11, 11, 48, []Part{{"r11", 64, 0}, {"r11d", 32, 0}, {"r11w", 16, 0}, {"r11b", 8, 0}}}
	R12 = &Register{"r12", 20, 12, 12, 24, []Part{{"r12", 64, 0}, {"r12d", 32, 0}, {"r12w", 16, 0}, {"r12b", 8, 0}}}
	R13 = &Register{"r13", 21, 13, 13, 16, []Part{{"r13", 64, 0}, {"r13d", 32, 0}, {"r13w", 16, 0}, {"r13b", 8, 0}}}
	R14 = &Register{"r14", 22, 14, 14, 8, []Part{{"r14", 64, 0}, {"r14d", 32, 0}, {"r14w", 16, 0}, {"r14b", 8, 0}}}
	R15 = &Register{"r15", 23, 15, 15, 0, []Part{{"r15", 64, 0}, {"r15d", 32, 0}, {"r15w", 16, 0}, {"r15b", 8, 0}}}

	RIP    = &Register{"ip", 8, 16, None, 128, []Part{{"rip", 64, 0}, {"eip", 32, 0}, {"pc", 64, 0}}}
	cs     = &Register{"cs", 10, None, None, 136, nil}
	ss     = &Register{"ss", 11, None, None, 160, nil}
	RFLAGS = &Register{"flags", 9, None, None, 144, []Part{{"rflags", 64, 0}, {"eflags", 32, 0}}}

	origRAX = &Register{"orig_ax", None, None, None, 120, nil} // the number of the system call
)

// AMD64 is x86-64. Sources:
//
//   - C: System V psABI, sections 3.2.1 and 3.2.3
//   - Go: section "amd64 architecture" of src/cmd/compile/abi-internal.md in the Go distribution
//   - Syscall: appendix A.2 of the psABI
var AMD64 = &Machine{
	Name: "amd64", ELF: elf.EM_X86_64, Word: 8,
	Registers: []*Register{
		RAX, RBX, RCX, RDX, RSI, RDI, RBP, RSP, R8, R9, R10, R11, R12, R13, R14, R15, RIP, cs, ss, RFLAGS, origRAX,
	},
	PC: RIP, SP: RSP, FP: RBP, CallPushes: 8,
	RegisterSet: 27 * 8, // struct user_regs_struct of asm/user_64.h, which also has the segment registers
	Syscall:     []*Register{RDI, RSI, RDX, R10, R8, R9}, SyscallPrefix: "__x64_sys_",
	Goroutine: R14,
	C: Convention{
		Arguments: []*Register{RDI, RSI, RDX, RCX, R8, R9}, Floats: 8,
		Results:   []*Register{RAX, RDX},
		Preserved: []*Register{RBX, RBP, R12, R13, R14, R15},
	},
	Go: Convention{Arguments: goAMD64, Floats: 15, Results: goAMD64},
}

var goAMD64 = []*Register{RAX, RBX, RCX, RDI, RSI, R8, R9, R10, R11}
