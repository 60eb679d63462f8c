/* A plain chain through the frame layouts that a compiler makes: a fixed
 * frame, one of variable size and one that is aligned beyond the ABI's. */
#include "truth.h"

KEEP long leaf(void)
{
	volatile long count = 0;

	while (!spin_done)
		count++;
	return count;
}

KEEP long aligned(long n)
{
	volatile char buffer[256] __attribute__((aligned(128)));

	buffer[n & 255] = 1;
	return leaf() + buffer[n & 255];
}

KEEP long variable(long n)
{
	volatile char buffer[n];

	buffer[n - 1] = 1;
	return aligned(n) + buffer[n - 1];
}

KEEP long fixed(long n)
{
	volatile long local = n;

	return variable(n * 64) + local;
}

int main(int argc, char **argv)
{
	spin_timer(announce(argc, argv, "main\nfixed\nvariable\naligned\nleaf\n"));
	return fixed(argc) == 0;
}
