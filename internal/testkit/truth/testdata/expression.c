/* Hand-written call frame information, in the form cryptographic libraries
 * have it: the frame's address is a DWARF expression. */
#include "truth.h"

long cfa_expression(volatile int *done);
long spin_pushing(volatile int *done);

KEEP long outer(volatile int *done)
{
	volatile long local = 1;

	return cfa_expression(done) + local;
}

int main(int argc, char **argv)
{
	spin_timer(announce(argc, argv, "main\nouter\ncfa_expression\nspin_pushing\n"));
	return outer(&spin_done) == 0;
}
