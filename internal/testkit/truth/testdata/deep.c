/* A recursion of DEPTH frames of a little over FRAME bytes each. */
#include "truth.h"

KEEP long leaf(void)
{
	volatile long count = 0;

	while (!spin_done)
		count++;
	return count;
}

KEEP long descend(long n)
{
	volatile char buffer[FRAME];

	buffer[n % FRAME] = 1;
	return (n <= 1 ? leaf() : descend(n - 1)) + buffer[n % FRAME];
}

int main(int argc, char **argv)
{
	static char chain[16 + DEPTH * 8];
	char *end = chain;

	end += sprintf(end, "main\n");
	for (int i = 0; i < DEPTH; i++)
		end += sprintf(end, "descend\n");
	sprintf(end, "leaf\n");
	spin_timer(announce(argc, argv, chain));
	return descend(DEPTH) == 0;
}
