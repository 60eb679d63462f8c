/* Busy in a signal handler. The interrupted function has executed nothing: the
 * interrupted address is its first byte, and the byte before it belongs to
 * another function with another frame. */
#include "truth.h"

long fault_at_entry(volatile long *address);

KEEP long leaf(void)
{
	volatile long count = 0;

	while (!spin_done)
		count++;
	return count;
}

KEEP void on_fault(int signal)
{
	volatile long local = signal;

	sink = leaf() + local;
	_exit(0);
}

KEEP long provoke(long n)
{
	volatile long local = n;

	return fault_at_entry(NULL) + local;
}

/* Writes to the stack below, down to where the handler's frames will be. Else
 * one program in 64 has leaf's stack pointer in the last four bytes of a page that
 * nothing has written to, leaf's frame being padding there: the kernel's copy of a
 * stack ends at the first page that is not in memory, so that it is empty. */
KEEP void touch_stack(void)
{
	volatile char below[64 << 10];

	for (size_t at = 0; at < sizeof below; at += 4096)
		below[at] = 0;
}

int main(int argc, char **argv)
{
	struct sigaction action;

	touch_stack();
	spin_timer(announce(argc, argv, "main\nprovoke\nfault_at_entry\n...\non_fault\nleaf\n"));
	memset(&action, 0, sizeof action);
	action.sa_handler = on_fault;
	sigaction(SIGSEGV, &action, NULL);
	return provoke(argc) == 0;
}
