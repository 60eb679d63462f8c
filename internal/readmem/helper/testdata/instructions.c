// Usage: instructions KIND CALLS
//
// The program prints the address of state, waits for input, then calls the function KIND CALLS
// times. The first instruction of each function is of a kind that the kernel handles differently if
// there is a probe on it. state[0] is n when the function is called with n. It is higher as soon as
// the function's first instructions have run, and for "add" as soon as the very first one has.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

volatile uint64_t state[8];

#define FUNCTION(name, first, last) \
	__asm__(".balign 64\n.globl " #name "\n.type " #name ", @function\n" #name ": " first "\n" \
		"incq state(%rip)\n" last "\nret\n.size " #name ", .-" #name); \
	void name(uint64_t n)

FUNCTION(nop, "nop", "");
FUNCTION(nop5, ".byte 0x0f, 0x1f, 0x44, 0, 0", "");
FUNCTION(endbr64, "endbr64", "");
FUNCTION(push, "push %rbx", "pop %rbx");
FUNCTION(sub, "sub $8, %rsp", "add $8, %rsp");
FUNCTION(only_return, "ret", "");
FUNCTION(load_by_si, "mov state+8(%rip), %rax", "");
FUNCTION(load_by_di, "mov state+8(%rip), %rsi", "");
FUNCTION(load_by_bx, "vpaddd state+16(%rip), %xmm7, %xmm6", "");
FUNCTION(compare, "cmpq $3, state+8(%rip)", "");
FUNCTION(add, "incq state(%rip)", "");
FUNCTION(jump_through, "jmp *where(%rip)", "");
__asm__(".data\nwhere: .quad nop\n.text");

static const struct { const char *name; void (*function)(uint64_t); } kinds[] = {
#define KIND(name) {#name, name}
	KIND(nop), KIND(nop5), KIND(endbr64), KIND(push), KIND(sub), KIND(only_return), KIND(load_by_si), KIND(load_by_di),
	KIND(load_by_bx), KIND(compare), KIND(add), KIND(jump_through),
};

int main(int argc, char **argv) {
	void (*function)(uint64_t) = 0;
	for (unsigned i = 0; argc == 3 && i < sizeof kinds / sizeof *kinds; i++)
		if (!strcmp(kinds[i].name, argv[1]))
			function = kinds[i].function;
	if (!function)
		return 2;
	if (function == load_by_bx && !__builtin_cpu_supports("avx")) {
		puts("no AVX");
		return 0;
	}
	printf("%lx\n", (unsigned long)state);
	fflush(stdout);
	if (getchar() == EOF)
		return 1;
	for (uint64_t n = 0; n < strtoull(argv[2], 0, 10); n++) {
		state[0] = n;
		function(n);
		for (int i = 0; i < 20000; i++)
			state[0]++;
	}
	return 0;
}
