// A program whose threads have names: one before and after it is renamed, two of their own, and a
// process that a thread forked. Each works in known_work.
#define _GNU_SOURCE
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

volatile unsigned long sink;

__attribute__((noinline)) void known_work(long n) { for (long i = 0; i < n; i++) sink += i; }

static void *known_thread(void *name)
{
	pthread_setname_np(pthread_self(), name);
	known_work(40000000);
	pid_t child = fork();
	if (!child) {
		known_work(20000000);
		_exit(0);
	}
	waitpid(child, 0, 0);
	return 0;
}

int main(void)
{
	pthread_t a, b;
	known_work(20000000);
	pthread_setname_np(pthread_self(), "known_renamed");
	pthread_create(&a, 0, known_thread, "known_a");
	pthread_create(&b, 0, known_thread, "known_b");
	known_work(60000000);
	pthread_join(a, 0);
	pthread_join(b, 0);
	return 0;
}
