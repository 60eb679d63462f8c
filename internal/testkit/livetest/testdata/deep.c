// Recurses, each level in one of three functions, and works at the bottom.
//
//	deep WAY MILLISECONDS [MICROSECONDS]
//
// A chain of calls begins at tree0 to tree3, which decides which function each level is in, and ends
// in work0 to work3, which says how many levels there are.
//
//	main       on the stack of the process, always of one depth
//	hurry      likewise, of another depth and tree all the time
//	threads    on the stacks of four threads, each of its own depth
//	signal     in a signal's handler, on a stack of its own
//	coroutine  on stacks that the program has made
//	die        as main, in children that are killed after a tenth of a second on a CPU
//
// With microseconds it naps so long again and again, in place of work, and keeps some memory each time.
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define STACK (8 << 20)

static const int depths[4] = {5000, 3000, 1500, 200};
static volatile long sink;
static long until, micros;

static long now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

__attribute__((noinline)) void nap(void)
{
	sink += (long)malloc(32);
	usleep(micros);
}

static void spin(long rounds)
{
	if (micros)
		do
			nap();
		while (!rounds && now() < until);
	else if (rounds)
		for (long i = 0; i < rounds; i++)
			sink += i;
	else
		while (now() < until)
			for (int i = 0; i < 100000; i++)
				sink += i;
}

#define WORK(n) __attribute__((noinline)) void work##n(long rounds) { spin(rounds); sink++; }
WORK(0) WORK(1) WORK(2) WORK(3)
static void (*const works[4])(long) = {work0, work1, work2, work3};

struct call { int tree, work; long rounds; };

long a(struct call *c, int level), b(struct call *c, int level), c(struct call *c, int level);
static long (*const levels[3])(struct call *, int) = {a, b, c};

static inline __attribute__((always_inline)) long next(struct call *of, int level)
{
	if (level == depths[of->work]) {
		works[of->work](of->rounds);
		return 1;
	}
	return levels[((unsigned)(level * 4 + of->tree) * 2654435761u >> 16) % 3](of, level + 1);
}

#define LEVEL(name, bytes) \
	__attribute__((noinline)) long name(struct call *c, int level) \
	{ volatile char pad[bytes]; pad[0] = level; return next(c, level) + pad[0]; }
LEVEL(a, 8) LEVEL(b, 24) LEVEL(c, 40)

#define TREE(n) __attribute__((noinline)) long tree##n(int work, long rounds) \
	{ struct call c = {n, work, rounds}; return next(&c, 0) + 1; }
TREE(0) TREE(1) TREE(2) TREE(3)
static long (*const trees[4])(int, long) = {tree0, tree1, tree2, tree3};

static void *thread(void *arg)
{
	int n = (int)(long)arg;
	sink += trees[n](n, 0);
	return NULL;
}

static void handle(int sig) { sink += trees[1](1, 0); }

static ucontext_t back, of[2];

static void coroutine(int n)
{
	while (now() < until) {
		sink += trees[n](n, 3000000);
		swapcontext(&of[n], n ? &back : &of[1]);
	}
}

static void *pages(void)
{
	return mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

// await_cpu waits until a child has run for so many milliseconds. A busy machine gives it a CPU now and
// then only, and those who watch it too.
static void await_cpu(pid_t pid, long ms)
{
	clockid_t clock;
	struct timespec t = {0};
	if (clock_getcpuclockid(pid, &clock))
		return;
	do
		usleep(10000);
	while (!clock_gettime(clock, &t) && t.tv_sec * 1000 + t.tv_nsec / 1000000 < ms);
}

int main(int argc, char **argv)
{
	until = now() + atol(argv[2]);
	if (argc > 3)
		micros = atol(argv[3]);
	if (!strcmp(argv[1], "main")) {
		sink += trees[0](0, 0);
	} else if (!strcmp(argv[1], "hurry")) {
		for (unsigned i = 1; now() < until; i++) {
			unsigned r = i * 2654435761u >> 8;
			sink += trees[r % 4](r / 4 % 4, 3000);
		}
	} else if (!strcmp(argv[1], "threads")) {
		pthread_t t[4];
		for (long i = 0; i < 4; i++)
			pthread_create(&t[i], NULL, thread, (void *)i);
		for (int i = 0; i < 4; i++)
			pthread_join(t[i], NULL);
	} else if (!strcmp(argv[1], "signal")) {
		stack_t s = {.ss_sp = pages(), .ss_size = STACK};
		struct sigaction act = {.sa_handler = handle, .sa_flags = SA_ONSTACK};
		sigaltstack(&s, NULL);
		sigaction(SIGUSR1, &act, NULL);
		raise(SIGUSR1);
	} else if (!strcmp(argv[1], "coroutine")) {
		for (int i = 0; i < 2; i++) {
			getcontext(&of[i]);
			of[i].uc_stack.ss_sp = pages();
			of[i].uc_stack.ss_size = STACK;
			of[i].uc_link = &back;
			makecontext(&of[i], (void (*)(void))coroutine, 1, i);
		}
		while (now() < until)
			swapcontext(&back, &of[0]);
	} else if (!strcmp(argv[1], "die")) {
		while (now() < until) {
			pid_t pid = fork();
			if (pid == 0) {
				until += 1000000;
				trees[0](0, 0);
			}
			await_cpu(pid, 100);
			kill(pid, SIGKILL);
			waitpid(pid, NULL, 0);
		}
	} else {
		return 2;
	}
	return 0;
}
