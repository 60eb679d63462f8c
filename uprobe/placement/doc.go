// Package placement decides where in a function a user probe may be, and where it is cheap. It
// only looks at machine code of amd64 and arm64, not at files, symbols or the kernel.
//
//	f := &placement.Function{Machine: elf.EM_X86_64, Code: code, Addr: vaddr}
//	skip, why := f.Entry()        // bytes to move an entry probe forward, and why
//	err := f.Probeable(offset)    // nil if a probe can be placed at offset
//
// # Cheap and expensive instructions
//
// A user probe replaces the first bytes of an instruction by a breakpoint. After a hit the
// kernel must still execute the instruction. It emulates some instructions. It copies all
// others to another page and single-steps them there, with a trap after them, which costs a
// second trip through the kernel. [Function.Stepped] distinguishes the two. On the development
// machine, which runs under nested virtualization, BenchmarkLiveHit measures 1.8 to 3.5 µs a
// hit for nop, push, jcc and call, and 14 to 23 µs for endbr64, test, sub, mov and ret.
//
// Kernels emulate these instructions (arch/x86/kernel/uprobes.c and
// arch/arm64/kernel/probes/decode-insn.c):
//
//	amd64: nop (90), jmp, jcc, call with a displacement    every kernel in use
//	amd64: push of a register, without prefix or with 41   not in 4.14, in 4.19 and later
//	amd64: nop of 2 to 8 bytes                             only 6.16 and later, and not all of them
//	amd64: pause (f3 90)                                   before 6.19, stepped since
//	amd64: mov %reg,%reg and lea 0(%reg),%reg to itself    6.19 and later
//	arm64: adr, adrp, b, bl, b.cond, cbz, cbnz, tbz, tbnz, br, blr, ret   every kernel with uprobes (4.10)
//	arm64: nop                                             only late 6.x
//
// If a line depends on the kernel, Stepped returns true (except for push). Then a probe moves
// on to an instruction that is cheap everywhere. A wrong answer costs only time. Loops (loop,
// jrcxz), push of memory or of a constant, and all of arm64's stores and pairs are
// single-stepped everywhere.
//
// # Moving an entry probe
//
// [Function.Entry] searches for the first emulated instruction, at most 32 bytes and 6
// instructions after the function's start. In Debian 12's libc, 1335 of 2200 functions start
// with a stepped instruction; probes on 153 of these are moved, among them free, read, write
// and close. Other files: bash 178 of 823, libcrypto 469 of 3086, libstdc++ 2154 of 3839 (all
// start with endbr64), arm64 libc 76 of 1837. Most of the others start with a mov or sub, which
// must not be passed. Entry takes about 8 µs per function, so a wildcard that matches 3000
// functions takes 25 ms.
//
// A moved probe must fetch the same values as at the first instruction, and be hit once per
// call. These rules ensure that:
//
//   - Only comparisons (cmp, test, bt; cmp, cmn, tst, ccmp, ccmn), nop, endbr64 and bti are
//     passed. They write no memory and no register except the flags. So the general registers, the
//     stack pointer, the return address and the stack are unchanged. The flags change, but carry no
//     argument in any calling convention. The processor executes these instructions before the
//     probe is hit, so the function gets the flags that it expects.
//   - None of them can fault because of a value from the caller: operands are registers, constants,
//     or variables of the object at a fixed distance from the code. So a call that crashes on a bad
//     pointer is still counted.
//   - None of them transfers control, so each arrival at the first instruction is one hit.
//   - Nothing else leads to the new place. The whole function is decoded. The probe is not moved if
//     a jump in the function leads past the first instruction and up to the new place, or if not
//     every byte can be decoded. It is not moved either if a jump goes to a computed address (a jump
//     table or a tail call, which cannot be distinguished reliably; this costs libc 2 of 155
//     functions, libcrypto 50 of 519). A jump back to the first instruction is no problem: it would
//     hit a probe there again, and hits the moved one again.
//   - Code outside the function (a cold part, hand-written assembly) could jump into it after its
//     first instruction. A test decodes all code of libc, libm, libcrypto, libstdc++ and bash,
//     300,000 jumps and calls, and arm64's libc: none of them leads to a place where a probe is
//     moved, and no other symbol is there. A caller that knows the file's symbols can check the
//     latter.
//
// There is one more case, for instructions that the kernel rejects or executes wrongly. If a
// function starts by filling a vector register (vpbroadcastb %esi,%zmm16), the probe goes to
// the second instruction, cheap or not. Probes cannot read vector registers.
//
// A thread that is between the two places when the probe is made is counted, although its call
// started slightly earlier. Return probes can be moved, too: the kernel takes the return
// address from the top of the stack or from x30, and both are unchanged.
//
// The tests cover all 4346 functions in which a probe is moved, in libc, libcrypto, libstdc++,
// bash and a Go program. They execute the passed instructions with random registers and compare
// registers and stack. They also count hits of probes at both places, and find out which
// instructions the running kernel steps.
//
// # Go
//
// Go's functions start with a check of the stack's size. If it fails, the runtime moves the
// stack, or lets another goroutine run, and jumps back to the first instruction: a probe there
// counts such a call twice. In a program that calls a function 100,100 times on growing stacks,
// a probe on its first instruction counted 100,560 hits, and one after the check counted
// 100,100. So for Go, Entry moves past the check, even if the instruction after it is stepped.
//
// The check writes only registers that Go's calling convention leaves to the linker (r12; x16,
// x17, x27), and reads only the goroutine's own record. It leads only to the call of morestack
// and back to the first instruction, which is verified. Jump tables do not matter there: the
// code after the check builds the frame, and no statement of the program compiles to it. All
// forms since Go's register calling convention are known (1.17 on amd64, 1.18 on arm64). Probes
// on assembly that first loads its goroutine are not moved.
//
// [Function.Returns] returns the places for probes on Go's returns: the kernel's own return
// probes write to the stack, which Go moves.
//
// # Rejected places
//
// A breakpoint inside an instruction makes the program execute something else.
// [Function.Boundary] decodes from the function's start and rejects every place that it is not
// sure of. It agrees with objdump on every instruction of every function of the files above,
// except for one that contains text. A jump that skips a lock prefix leads into an instruction,
// as it does for objdump; such a place is rejected.
//
// [Function.Probeable] also rejects the instructions that the kernel rejects, since the kernel
// checks them only if the file is mapped when the probe is made. On amd64, these are
// instructions with a lock or segment prefix (notrack jmp is one), breakpoints and privileged
// instructions. On arm64, they are PC-relative loads, exclusive accesses, memory copies, writes
// of system registers, and authenticating branches and hints.
//
// It also rejects instructions that kernels accept but execute wrongly, as tested on 6.18. They
// mistake the opcode of a vector instruction for that of an older one: a probe on vzeroupper or
// vpcmpeqb turns it into a branch, and the program silently computes something else. And a
// program with a probe on a system call instruction crashes.
package placement
