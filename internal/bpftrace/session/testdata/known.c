// A program of the tests: it calls known_call 100 times, or computes for a second of processor time.
// It begins when it gets a line, says when it is done, and stays until its standard input ends.

#include <stdio.h>
#include <time.h>

__attribute__((noinline)) int known_call(int n, const char *text)
{
	__asm__ volatile("" : : "r"(text) : "memory");
	return 2 * n;
}

__attribute__((noinline)) int known_caller(int i)
{
	return known_call(i % 10, i % 2 ? "odd" : "even") + 1;
}

__attribute__((noinline)) long known_work(void)
{
	volatile long n = 0;
	while (clock() < CLOCKS_PER_SEC)
		for (int i = 0; i < 1000000; i++)
			n += i;
	return n;
}

int main(int argc, char **argv)
{
	long sum = 0;
	getchar();
	if (argc > 1)
		sum = known_work();
	else
		for (int i = 0; i < 100; i++)
			sum += known_caller(i);
	puts(sum ? "done" : "nothing");
	fflush(stdout);
	getchar();
}
