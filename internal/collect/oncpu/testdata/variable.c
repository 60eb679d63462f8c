// A thread whose outermost function has a large variable, as each thread of Ruby has: usage: variable MS used|unused
#include <alloca.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static volatile unsigned long x;
static int is_used;

__attribute__((noinline)) void work(void)
{
	for (int i = 0; i < 100000; i++)
		x += i;
}

__attribute__((noinline)) void *outermost(void *arg)
{
	long ms = (long)arg;
	volatile char *variable = alloca(1 << 20);
	struct timespec start, now;

	clock_gettime(CLOCK_MONOTONIC, &start);
	do {
		variable[is_used ? x % (1 << 20) : 0]++;
		work();
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while ((now.tv_sec - start.tv_sec) * 1000 + (now.tv_nsec - start.tv_nsec) / 1000000 < ms);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	if (argc < 3)
		return 1;
	is_used = !strcmp(argv[2], "used");
	if (pthread_create(&thread, NULL, outermost, (void *)atol(argv[1])))
		return 1;
	pthread_join(thread, NULL);
	return 0;
}
