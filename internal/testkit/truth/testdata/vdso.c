/* Busy in the code that the kernel maps into every process. */
#include "truth.h"

KEEP long ask(long n)
{
	struct timespec now = {0, 0};

	while (!spin_done)
		clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_nsec + n;
}

KEEP long outer(long n)
{
	volatile long local = n;

	return ask(n) + local;
}

int main(int argc, char **argv)
{
	spin_timer(announce(argc, argv, "main\nouter\nask\n...\n"));
	return outer(argc) == 0;
}
