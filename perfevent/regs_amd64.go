package perfevent

// UserRegsMask is the set of registers that Sampling.UserRegs copies: all of
// enum perf_event_x86_regs (arch/x86/include/uapi/asm/perf_regs.h) but DS, ES,
// FS and GS, which 64 bit kernels refuse. Bit n stands for register number n
// there, and the values follow in that order: AX, BX, CX, DX, SI, DI, BP, SP,
// IP, FLAGS, CS, SS, R8 to R15.
const UserRegsMask uint64 = 0xff0fff

const userRegsCount = 20
