// Threads that contend for one mutex and never end.
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

static pthread_mutex_t contended = PTHREAD_MUTEX_INITIALIZER;
static volatile long sum;

static void *contend(void *x)
{
	for (;;) {
		pthread_mutex_lock(&contended);
		for (int i = 0; i < 20000; i++)
			sum += i;
		pthread_mutex_unlock(&contended);
	}
}

int main(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (int i = 0; i < 4; i++) {
		pthread_t t;
		pthread_create(&t, NULL, contend, NULL);
	}
	puts("ready");
	fflush(stdout);
	for (;;)
		pause();
}
