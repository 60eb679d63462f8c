// Threads that wait for a condition, and one that counts on a CPU:
//
//	threads N CPU
//
// First of all it says an empty line. It answers each line of input with the count so far and the CPU time, in
// nanoseconds, that it took.
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static volatile unsigned long count;
static pthread_t counter;

static void *waits(void *x)
{
	pthread_mutex_lock(&lock);
	for (;;)
		pthread_cond_wait(&never, &lock);
	return x;
}

static void *counts(void *cpu)
{
	cpu_set_t one;
	CPU_ZERO(&one);
	CPU_SET((long)cpu, &one);
	pthread_setaffinity_np(pthread_self(), sizeof one, &one);
	for (;;)
		count++;
	return cpu;
}

int main(int argc, char **argv)
{
	pthread_attr_t small;
	pthread_t t;
	clockid_t clock;
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 64 << 10);
	for (int i = 0; i < atoi(argv[1]); i++)
		if (pthread_create(&t, &small, waits, NULL))
			return 1;
	pthread_create(&counter, &small, counts, (void *)atol(argv[2]));
	pthread_getcpuclockid(counter, &clock);
	puts("");
	fflush(stdout);
	for (int c; (c = getchar()) != EOF;) {
		struct timespec now;
		if (c != '\n')
			continue;
		clock_gettime(clock, &now);
		printf("%lu %lu\n", count, now.tv_sec * 1000000000UL + now.tv_nsec);
		fflush(stdout);
	}
	return 0;
}
