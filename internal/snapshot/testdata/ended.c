// A process whose main thread ends; another one waits for ever.
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

__attribute__((noinline)) static int wait_pipe(int fd) { char b[10]; return read(fd, b, sizeof b) + 1; }
static void *wait_thread(void *fds) { prctl(PR_SET_NAME, "wait_pipe"); return (void *)(long)wait_pipe(*(int *)fds); }

int main(void)
{
	static int fds[2];
	pthread_t t;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (pipe(fds))
		return 1;
	pthread_create(&t, NULL, wait_thread, fds);
	puts("ready");
	fflush(stdout);
	pthread_exit(NULL);
}
