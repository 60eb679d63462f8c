/* Calls of every kind that an unwinder meets: recursion, alloca, a realigned
 * stack, variable arguments, a callback from libc, longjmp, a signal handler,
 * a tail call, the vdso. */
#include <alloca.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static volatile int sink;
static jmp_buf env;

__attribute__((noinline)) static int leaf(int n) { return n * sink + 1; }

__attribute__((noinline)) static int recurse(int n)
{
	int r = n ? recurse(n - 1) : leaf(n);
	sink += r;
	return r + 1;
}

__attribute__((noinline)) static int dynamic(int n)
{
	char *p = alloca(n + sink);
	memset(p, n, n);
	return leaf(p[n / 2]) + recurse(2);
}

__attribute__((noinline)) static int aligned(int n)
{
	_Alignas(64) volatile char block[128];
	block[n] = n;
	sink += leaf(block[n]);
	return dynamic(block[n] + 10) + block[0];
}

__attribute__((noinline)) static int variable(int n, ...)
{
	va_list list;
	int sum = 0;
	va_start(list, n);
	while (n--)
		sum += va_arg(list, int);
	va_end(list);
	return leaf(sum);
}

__attribute__((noinline)) static int tail(int n) { sink++; return recurse(n & 1); }

static int compare(const void *a, const void *b)
{
	return leaf(*(const int *)a) - leaf(*(const int *)b);
}

static void handler(int signal) { sink += leaf(signal); }

__attribute__((noinline)) static void jump(int n)
{
	if (n == 0)
		longjmp(env, 1);
	jump(n - 1);
	sink++;
}

int main(void)
{
	int numbers[] = {5, 3, 8, 1};
	char text[64];
	struct timespec now;

#ifdef TRAP
	__asm__ volatile("int3"); /* from here on it is stepped */
#endif
	signal(SIGUSR1, handler);
	sink += recurse(4) + aligned(3) + variable(4, 1, 2, 3, 4) + tail(5);
	qsort(numbers, 4, sizeof numbers[0], compare);
	raise(SIGUSR1);
	if (!setjmp(env))
		jump(3);
	clock_gettime(CLOCK_MONOTONIC, &now);
	snprintf(text, sizeof text, "%d %f %s", sink, 1.5, "text");
	free(strdup(text));
	return 0;
}
