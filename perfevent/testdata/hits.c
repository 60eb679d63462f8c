/*
 * Calls a function at full speed and counts the calls itself.
 *
 *   hits FUNCTION EARLY LATE CHILDREN CALLS DEPTH
 *
 * FUNCTION is hit (below, its argument is the number of the call), bursts (hit,
 * with a pause after each fourth call) or malloc (malloc and free in turn). EARLY threads wait from the start; after a line on
 * standard input they call, each CALLS times with at least DEPTH bytes of stack
 * in use, together with LATE new threads and CHILDREN new processes. Prints
 * "ready TID…" with the early threads, then "called TOTAL" and, for comparing
 * with nothing attached, how many nanoseconds a call of the first thread took.
 * Ends at end of input.
 */
#define _GNU_SOURCE
#include <alloca.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* A nop is emulated where a probe replaces it; no tool adds to a bare label. */
__asm__(".text\n.globl hit\n.type hit, %function\nhit:\n\tnop\n\tret\n.size hit, .-hit\n");
extern void hit(unsigned long n);

struct shared {
	unsigned long total;
	double nanoseconds;
};

static struct shared *shared;
static unsigned long calls, depth;
static int use_malloc, bursts;
static sem_t go, tids_known;
static long tids[64];
static int known;

static void call(void)
{
	volatile char *room = alloca(depth + 1);
	struct timespec a, b, pause = { 0, 50000 };
	unsigned long done = 0;

	memset((void *)room, 1, depth + 1);
	clock_gettime(CLOCK_MONOTONIC, &a);
	for (; done < calls; done++) {
		if (use_malloc) {
			void *volatile p = malloc(32);
			free(p);
		} else {
			hit(done);
			if (bursts && done % 4 == 3)
				nanosleep(&pause, NULL);
		}
	}
	clock_gettime(CLOCK_MONOTONIC, &b);
	room[depth] = 2;
	__atomic_add_fetch(&shared->total, done, __ATOMIC_SEQ_CST);
	shared->nanoseconds = ((b.tv_sec - a.tv_sec) * 1e9 + (b.tv_nsec - a.tv_nsec)) / (calls ? calls : 1);
}

static void check(const char *what, int error)
{
	if (error) {
		fprintf(stderr, "hits: %s: %s\n", what, strerror(error));
		_exit(3);
	}
}

static void *early(void *index)
{
	tids[(long)index] = syscall(SYS_gettid);
	sem_post(&tids_known);
	sem_wait(&go);
	call();
	return NULL;
}

static void *late(void *unused)
{
	call();
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t threads[64], more[64];
	char line[16];

	if (argc != 7)
		return 2;
	use_malloc = !strcmp(argv[1], "malloc");
	bursts = !strcmp(argv[1], "bursts");
	int earlies = atoi(argv[2]), lates = atoi(argv[3]), children = atoi(argv[4]);
	calls = atol(argv[5]);
	depth = atol(argv[6]);
	shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	sem_init(&go, 0, 0);
	sem_init(&tids_known, 0, 0);
	for (long i = 0; i < earlies; i++)
		check("start a thread", pthread_create(&threads[i], NULL, early, (void *)i));
	for (; known < earlies; known++)
		sem_wait(&tids_known);
	dprintf(1, "ready");
	for (int i = 0; i < earlies; i++)
		dprintf(1, " %ld", tids[i]);
	dprintf(1, "\n");
	if (read(0, line, sizeof line) <= 0)
		return 0;
	for (int i = 0; i < children; i++) {
		pid_t child = fork();

		if (!child) {
			call();
			_exit(0);
		}
		check("fork", child < 0 ? errno : 0);
	}
	for (int i = 0; i < earlies; i++)
		sem_post(&go);
	for (int i = 0; i < lates; i++)
		check("start a thread", pthread_create(&more[i], NULL, late, NULL));
	for (int i = 0; i < earlies; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < lates; i++)
		pthread_join(more[i], NULL);
	while (wait(NULL) > 0)
		;
	dprintf(1, "called %lu %.0f\n", shared->total, shared->nanoseconds);
	while (read(0, line, sizeof line) > 0)
		;
	return 0;
}
