package perfevent

// UserRegsMask is the set of registers that Sampling.UserRegs copies: X0 to
// X29, LR, SP and PC, the numbers 0 to 32 of enum perf_event_arm_regs
// (arch/arm64/include/uapi/asm/perf_regs.h). Bit n stands for register number n
// there, and the values follow in that order.
const UserRegsMask uint64 = 1<<33 - 1

const userRegsCount = 33
