#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	void *library = dlopen(argv[1], RTLD_NOW);
	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	((void (*)(void))dlsym(library, "Start"))();
	puts("ready");
	fflush(stdout);
	getchar();
	return 0;
}
