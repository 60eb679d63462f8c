/*
 * Touches fresh pages in threads and children, and says which.
 *
 *   faults EARLY LATE CHILDREN PAGES   EARLY threads wait from the start; after
 *       a line on standard input they touch, then LATE new threads, then
 *       CHILDREN new processes.
 *   faults churn CHAINS PAGES          each of CHAINS threads starts the next and
 *       ends; after a line, 20 more of each chain touch.
 *
 * Every toucher prints "touched TID ADDRESS PAGES". Ends at end of input.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static long pages;
static sem_t go;
static volatile int told;

static void touch(void)
{
	size_t size = pages * 4096;
	volatile char *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	madvise((void *)p, size, MADV_NOHUGEPAGE);
	for (long i = 0; i < pages; i++)
		p[i * 4096] = 1;
	dprintf(1, "touched %ld %lx %ld\n", syscall(SYS_gettid), (unsigned long)p, pages);
}

static void *early(void *unused)
{
	sem_wait(&go);
	touch();
	return unused;
}

static void *late(void *unused)
{
	touch();
	return unused;
}

static void *chain(void *left)
{
	pthread_attr_t attr;
	pthread_t next;

	if (told) {
		touch();
		if (!left)
			return NULL;
		left = (void *)((intptr_t)left - 1);
	} else {
		usleep(300);
	}
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_create(&next, &attr, chain, left);
	return NULL;
}

int main(int argc, char **argv)
{
	char line[16];
	pthread_t threads[64], t;

	sem_init(&go, 0, 0);
	if (argc == 4 && !strcmp(argv[1], "churn")) {
		pages = atol(argv[3]);
		for (int i = 0; i < atoi(argv[2]); i++)
			pthread_create(&t, NULL, chain, (void *)19);
		dprintf(1, "ready\n");
		if (read(0, line, sizeof line) > 0)
			told = 1;
		while (read(0, line, sizeof line) > 0)
			;
		return 0;
	}
	if (argc != 5)
		return 2;
	pages = atol(argv[4]);
	for (int i = 0; i < atoi(argv[1]); i++)
		pthread_create(&threads[i], NULL, early, NULL);
	dprintf(1, "ready\n");
	if (read(0, line, sizeof line) <= 0)
		return 1;
	for (int i = 0; i < atoi(argv[1]); i++)
		sem_post(&go);
	for (int i = 0; i < atoi(argv[1]); i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < atoi(argv[2]); i++)
		pthread_create(&threads[i], NULL, late, NULL);
	for (int i = 0; i < atoi(argv[2]); i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < atoi(argv[3]); i++)
		if (!fork()) {
			touch();
			_exit(0);
		}
	while (wait(NULL) > 0)
		;
	dprintf(1, "done\n");
	while (read(0, line, sizeof line) > 0)
		;
	return 0;
}
