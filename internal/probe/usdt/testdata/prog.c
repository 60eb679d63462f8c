/* A program with a mark of every kind of operand. It waits for a line, passes
 * all marks once, and prints how often a semaphore was up. */
#include <stdio.h>
#include "marks.h"

SEMAPHORE(prog_guarded_semaphore);

#if defined(__x86_64__)
#define BYTE(N) "%b" N
#define BYTE_REGISTER "q"
#else
#define BYTE(N) "%" N
#define BYTE_REGISTER "r"
#endif

int counter = 1234567;
static short table[4] = { 1, -2, 3, -4 };
static __thread int local = 9;

__attribute__((noinline)) static void marks(int number, const char *text, long big)
{
	signed char small = (signed char)number;
	volatile int stacked = number * 2;
	MARK("prog", "registers", "0", "-4@%0 8@%1 8@%2 -1@" BYTE("3"), "r"(number), "r"(text), "r"(big), BYTE_REGISTER(small));
	MARK("prog", "immediates", "0", "-4@%0 8@%1 4@%2", "n"(-1), "n"(77), "n"(0x7fffffff));
	MARK("prog", "memory", "0", "-4@%0", "m"(stacked));
	MARK("prog", "none", "0", "", "r"(number));
#if defined(__x86_64__) && !defined(__clang__)
	MARK("prog", "globals", "0", "-4@counter(%%rip) -2@2+table(%%rip) -4@nowhere(%%rip)", "r"(&table[1]));
	MARK("prog", "high", "0", "1@%h0", "Q"(0x4142));
	MARK("prog", "indexed", "0", "-2@(%1,%0,2) -4@%0", "r"((long)number), "r"(table));
	MARK("prog", "float", "0", "8f@%0 -4@%%fs:0 -4@%1", "x"((double)number), "r"(number + local));
#endif
}

__attribute__((noinline)) static int guarded(int number)
{
	if (!prog_guarded_semaphore)
		return 0;
	MARK("prog", "guarded", "prog_guarded_semaphore", "-4@%0", "r"(number));
	return 1;
}

__attribute__((noinline)) static void twice(int number)
{
	MARK("prog", "twice", "0", "-4@%0", "r"(number));
	MARK("prog", "twice", "0", "-4@%0", "r"(number + 1));
}

int main(void)
{
	puts("ready");
	fflush(stdout);
	getchar();
	marks(-5, "a text", 1L << 40);
	printf("%d\n", guarded(42));
	twice(7);
	return 0;
}
