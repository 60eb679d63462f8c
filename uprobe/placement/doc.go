// Package placement decides where in a function a user probe may stand and where
// it is cheap. It reads machine code of amd64 and arm64 and nothing else: no
// file, no symbol, no kernel.
//
// # Cheap and dear instructions
//
// A user probe replaces an instruction's first bytes by a breakpoint. After a
// hit the kernel must still do what the instruction does. Some it carries out on
// its own (emulates); all others it copies to another page and runs there with a
// trap behind them (single-steps), which takes a second trip through the kernel.
// [Function.Stepped] tells them apart. On the development machine, which runs
// under nested virtualization, BenchmarkLiveHit measures 1.8 to 3.5 µs a hit for
// nop, push, jcc and call, and 14 to 23 µs for endbr64, test, sub, mov and ret.
//
// What kernels emulate, from arch/x86/kernel/uprobes.c and
// arch/arm64/kernel/probes/decode-insn.c:
//
//	amd64: nop (90), jmp, jcc, call with a displacement    every kernel in use
//	amd64: push of a register, without prefix or with 41   not in 4.14, in 4.19 and later
//	amd64: nop of 2 to 8 bytes                             only 6.16 and later, and not all of them
//	amd64: pause (f3 90)                                   before 6.19, stepped since
//	amd64: mov %reg,%reg and lea 0(%reg),%reg to itself    6.19 and later
//	arm64: adr, adrp, b, bl, b.cond, cbz, cbnz, tbz, tbnz, br, blr, ret   every kernel with uprobes (4.10)
//	arm64: nop                                             only late 6.x
//
// Stepped says of the lines that depend on the kernel, push excepted, that it
// steps: then a probe moves on to an instruction that is cheap everywhere. A
// wrong answer costs time and nothing else. Loops (loop, jrcxz), push of memory
// or a constant and all of arm64's stores and pairs are stepped everywhere.
//
// # Moving an entry probe
//
// [Function.Entry] walks from the first instruction to the first one that is
// emulated, at most 32 bytes and 6 instructions on. Of 2200 functions of Debian
// 12's libc 1335 start with a stepped instruction, and 153 of these are moved,
// free, read, write and close among them; of bash's 823 are 178, of libcrypto's
// 3086 are 469, of libstdc++'s 3839 (all start with endbr64) are 2154, of arm64
// libc's 1837 are 76. Most others start with a mov or sub, which can't be passed.
// A function takes Entry some 8 µs, so that a wildcard of 3000 takes 25 ms.
//
// A moved probe must read what it would have read at the first instruction and
// be hit as often as the function is called. These are the rules that make it so:
//
//   - What is passed over is a comparison (cmp, test, bt; cmp, cmn, tst, ccmp,
//     ccmn), a nop, endbr64 or bti. None writes memory or any register but the
//     flags, so all general registers, the stack pointer, the return address and
//     the stack are as they were. Flags do change. They carry no argument in any
//     calling convention, and since what is passed over is executed by the
//     processor before the probe is hit, and not skipped, the function gets the
//     flags that it expects.
//   - None can fault because of what the caller handed over: operands are
//     registers, constants, or variables of the object at a fixed distance from
//     the code. So a call that dies of a bad pointer is still seen first.
//   - None transfers control. From the first instruction the only way is forward,
//     so each arrival there is one hit.
//   - Nothing else leads there: the whole function is read, and the probe stays
//     if a jump in it leads behind the first instruction and up to the new place,
//     if a jump goes to an address that is computed (a jump table or a tail call:
//     nothing in the code tells them apart for sure; it costs libc 2 of 155
//     functions, libcrypto 50 of 519), or if not every byte can be read as code.
//     A jump back to the first instruction is no obstacle: the probe would have
//     been hit there again, and is hit again.
//   - Code outside the function (a cold part, hand-written assembly) could jump
//     into it behind its first instruction. A test reads all code of libc, libm,
//     libcrypto, libstdc++ and bash, 300,000 jumps and calls, and arm64's libc:
//     none does where a probe is moved, and no other symbol lies there. A caller
//     that knows the file's symbols can rule the latter out.
//
// One more case is for instructions that the kernel refuses or gets wrong: if a function begins
// by filling a vector register (vpbroadcastb %esi,%zmm16), the probe goes to the second
// instruction, cheap or not. Probes cannot read vector registers.
//
// A thread that stands between the two places when the probe is made is counted
// though its call began a little earlier. Return probes can be moved too: the
// kernel takes the return address from the top of the stack or from x30, and
// neither has changed.
//
// The tests let a processor execute, with random registers, what is passed over
// in all 4346 functions that are moved in libc, libcrypto, libstdc++, bash and a
// Go program, and compare registers and stack; they count hits at both places
// with probes; and they learn from the running kernel what it steps.
//
// # Go
//
// Go's functions begin with a check of the stack's size. If it fails, the
// runtime moves the stack, or lets another goroutine run, and jumps to the first
// instruction again: a probe there counts such a call twice. In a program that
// calls a function 100,100 times on growing stacks 100,560 hits were counted at
// its first instruction and 100,100 behind the check. So for Go Entry moves past
// the check, even where the instruction behind it is a stepped one. The check
// writes only registers that Go's calling convention leaves to the linker (r12;
// x16, x17, x27), reads only the goroutine's own record, and leads to nothing but
// the call of morestack and the first instruction, which is verified. Jump tables
// don't matter there, because what follows the check builds the frame, and no
// statement of the program is compiled to that. The forms known are those since
// Go's register calling convention (1.17 on amd64, 1.18 on arm64). Assembly that
// fetches its goroutine first is left alone.
//
// [Function.Returns] finds where probes on Go's returns go: the kernel's own
// return probes write into the stack, which Go moves.
//
// # Places that are refused
//
// A breakpoint inside an instruction makes the program execute something else.
// [Function.Boundary] reads from the function's start and refuses what it isn't
// sure of. It agrees with objdump on every instruction of every function of the
// files above but one, which holds text. A jump that skips a lock prefix leads into an instruction, as
// objdump sees it too; such a place is refused.
//
// [Function.Probeable] adds what the kernel refuses, since the kernel says so
// only where the file is mapped when the probe is made: on amd64 instructions
// with a lock or segment prefix (notrack jmp is one), breakpoints, privileged
// ones; on arm64 loads relative to themselves, exclusive accesses, memory
// copies, writes of system registers, authenticating branches and hints. It also refuses what kernels
// accept and do wrongly, as tried on 6.18: they take the opcode of a vector
// instruction for that of an older one, so that a probe on vzeroupper or
// vpcmpeqb makes a branch of it and the program silently computes something
// else; and a program with a probe on a system call instruction dies.
package placement
