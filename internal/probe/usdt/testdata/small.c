/* Marks in a program for a 32-bit machine, which needs no library. */
#include "marks.h"

SEMAPHORE(small_one_semaphore);

void _start(int number)
{
	MARK("small", "one", "small_one_semaphore", "-4@%0 4@%1", "r"(number), "n"(3));
	for (;;)
		MARK("small", "loop", "0", "");
}
