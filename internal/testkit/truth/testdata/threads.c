/* Two threads are busy; the main thread waits for them. */
#include <pthread.h>

#include "truth.h"

KEEP long leaf(void)
{
	volatile long count = 0;

	while (!spin_done)
		count++;
	return count;
}

KEEP long work(long n)
{
	volatile long local = n;

	return leaf() + local;
}

KEEP void *thread_start(void *argument)
{
	sink += work((long)argument);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[2];

	spin_timer(announce(argc, argv, "thread_start\nwork\nleaf\n"));
	for (long i = 0; i < 2; i++)
		if (pthread_create(&threads[i], NULL, thread_start, (void *)i))
			return 1;
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
