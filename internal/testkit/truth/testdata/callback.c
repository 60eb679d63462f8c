/* libc's frames in the middle: qsort calls back into the program. */
#include "truth.h"

KEEP int leaf(void)
{
	volatile long count = 0;

	while (!spin_done)
		count++;
	return 1;
}

KEEP int compare(const void *a, const void *b)
{
	volatile int local = *(const int *)a - *(const int *)b;

	return leaf() * local;
}

KEEP long sort(long n)
{
	volatile int values[8] = {3, 1, 2, 5, 4, 8, 7, 6};

	qsort((void *)values, 8, sizeof values[0], compare);
	return values[n & 7];
}

int main(int argc, char **argv)
{
	spin_timer(announce(argc, argv, "main\nsort\n...\ncompare\nleaf\n"));
	return sort(argc) == 0;
}
