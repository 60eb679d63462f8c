// A process that shares its memory with its child, which is no thread: usage: sharing LIBRARY
// The child waits for 100 ms of CPU time. Then its parent loads the library, and the child runs its
// function spin for 600 ms.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void (*volatile spin)(long);
static volatile int ready;

static long used_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static int child(void *unused)
{
	while (used_ms() < 100)
		;
	ready = 1;
	while (!spin)
		usleep(1000);
	for (long end = used_ms() + 600; used_ms() < end;)
		spin(200000);
	return 0;
}

int main(int argc, char **argv)
{
	const int size = 1 << 20;
	char *stack = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pid_t pid = clone(child, stack + size, CLONE_VM | SIGCHLD, NULL);
	while (!ready)
		usleep(1000);
	void *library = dlopen(argv[1], RTLD_NOW);
	if (!library)
		return 1;
	spin = (void (*)(long))dlsym(library, "spin");
	return waitpid(pid, NULL, 0) != pid;
}
