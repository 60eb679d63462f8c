/* Busy in a library that dlopen brought in, below a call by pointer. */
#include <dlfcn.h>

#include "truth.h"

KEEP long enter(long (*entry)(volatile int *))
{
	volatile long local = 1;

	return entry(&spin_done) + local;
}

int main(int argc, char **argv)
{
	double seconds = announce(argc, argv, "main\nenter\nplugin_entry\nplugin_leaf\n");
	void *library = dlopen("libplugin.so", RTLD_NOW);
	long (*entry)(volatile int *);

	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	*(void **)&entry = dlsym(library, "plugin_entry");
	spin_timer(seconds);
	return enter(entry) == 0;
}
