// Usage: steady FILE
//
// The program prints the address of state and changes state all the time, until its standard input
// is closed. FILE gets what state[0] was at each sample: an event with attr.sigtrap makes the
// kernel send SIGTRAP before the program continues, and the handler notes state[0] and the time.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { words = 8, most = 200000 };
static volatile uint64_t state[words];
static volatile int stop;

struct note { uint64_t time, count; };
static struct { volatile uint64_t n, capacity; } *notes;

static uint64_t now(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + t.tv_nsec;
}

static void on_trap(int signal) {
	(void)signal;
	uint64_t time = now();
	if (notes->n == notes->capacity)
		return;
	struct note *note = (struct note *)(notes + 1) + notes->n;
	note->time = time;
	note->count = state[0];
	notes->n++;
}

static void *wait_for_end(void *arg) {
	char c;
	while (read(0, &c, 1) > 0)
		;
	stop = 1;
	return arg;
}

int main(int argc, char **argv) {
	if (argc != 2)
		return 2;
	size_t size = sizeof *notes + (size_t)most * sizeof(struct note);
	int fd = open(argv[1], O_RDWR | O_CREAT, 0600);
	if (fd < 0 || ftruncate(fd, size))
		return 1;
	notes = mmap(0, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
	if (notes == MAP_FAILED)
		return 1;
	notes->capacity = most;
	struct sigaction action = { .sa_handler = on_trap, .sa_flags = SA_RESTART };
	sigaction(SIGTRAP, &action, 0);
	pthread_t waiting;
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGTRAP);
	pthread_sigmask(SIG_BLOCK, &set, 0);
	if (pthread_create(&waiting, 0, wait_for_end, 0))
		return 1;
	pthread_sigmask(SIG_UNBLOCK, &set, 0);
	printf("%lx\n", (unsigned long)state);
	fflush(stdout);
	while (!stop) {
		state[0]++;
		for (int i = 1; i < words; i++)
			state[i] = state[0] * i;
	}
	return 0;
}
