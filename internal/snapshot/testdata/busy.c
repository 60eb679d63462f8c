// Threads that take two mutexes in one order, or the second alone, as often as they can.
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER, second = PTHREAD_MUTEX_INITIALIZER;

static void *both(void *x)
{
	for (;;) {
		pthread_mutex_lock(&first);
		usleep(100);
		pthread_mutex_lock(&second);
		usleep(50);
		pthread_mutex_unlock(&second);
		pthread_mutex_unlock(&first);
	}
}

static void *one(void *x)
{
	for (;;) {
		pthread_mutex_lock(&second);
		usleep(70);
		pthread_mutex_unlock(&second);
	}
}

int main(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (int i = 0; i < 16; i++) {
		pthread_t t;
		pthread_create(&t, NULL, i % 2 ? both : one, NULL);
	}
	puts("ready");
	fflush(stdout);
	for (;;)
		pause();
}
