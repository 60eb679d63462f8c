/* Calls a tiny function all the time, so that many samples fall on its first
 * instructions, on its return, and on the PLT stub where there is one. */
#include "truth.h"

long tiny(long n);

KEEP long call_often(long n)
{
	while (!spin_done)
		n = tiny(n);
	return n;
}

KEEP long outer(long n)
{
	volatile long local = n;

	return call_often(n) + local;
}

int main(int argc, char **argv)
{
	spin_timer(announce(argc, argv, "main\nouter\ncall_often\n...\n"));
	return outer(argc) == 0;
}
