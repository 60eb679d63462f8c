/* Calls handle 1000 times, with a text and a number. handle returns how many bytes it has printed. */
#include <stdio.h>

__attribute__((noinline)) int handle(const char *name, int n)
{
	return printf("%s %d\n", name, n);
}

__attribute__((noinline)) int outer(int n)
{
	char name[20];
	sprintf(name, "req-%d", n);
	return handle(name, n) + 1;
}

int main(void)
{
	int sum = 0;
	for (int i = 0; i < 1000; i++)
		sum += outer(i);
	return sum == 0;
}
