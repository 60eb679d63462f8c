/* Busy in one of libc's hand-written functions. */
#include "truth.h"

static char source[1 << 16], target[1 << 16];

KEEP long copy(long n)
{
	while (!spin_done) {
		memcpy(target, source, sizeof target - (size_t)n);
		sink++;
	}
	return target[n];
}

KEEP long outer(long n)
{
	volatile long local = n;

	return copy(n) + local;
}

int main(int argc, char **argv)
{
	spin_timer(announce(argc, argv, "main\nouter\ncopy\n...\n"));
	return (int)outer(argc) == 0;
}
