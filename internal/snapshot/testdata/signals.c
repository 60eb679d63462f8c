// Threads that signal themselves again and again, and see whether each signal arrives:
// where one does not, the thread is called "lost".
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

static __thread volatile long arrived;
static void arrive(int number) { arrived++; }

static void *raises(void *x)
{
	for (long raised = 1;; raised++) {
		raise(SIGUSR1);
		if (arrived != raised) {
			prctl(PR_SET_NAME, "lost");
			for (;;)
				pause();
		}
	}
	return x;
}

int main(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGUSR1, arrive);
	for (int i = 0; i < 2; i++) {
		pthread_t t;
		pthread_create(&t, NULL, raises, NULL);
	}
	puts("ready");
	fflush(stdout);
	for (;;)
		pause();
}
