// Functions to annotate: one with an inlined call, one of two names, one without samples.
#include <stdio.h>

static long mix(long x)
{
	x ^= x << 13;
	x ^= (unsigned long)x >> 7;
	return x ^ x << 17;
}

__attribute__((noinline)) long compute(long n)
{
	long sum = 0, x = 88172645463325252;
	for (long i = 1; i <= n; i++) {
		x = mix(x);
		sum += x / i;
	}
	return sum;
}

long compute_alias(long n) __attribute__((alias("compute")));

__attribute__((noinline)) long unrolled(const long *p, long n)
{
	long sum = 0;
	for (long i = 0; i + 8 <= n; i += 8) {
		sum += p[i] * 3; sum ^= p[i + 1] * 5; sum += p[i + 2] * 7; sum ^= p[i + 3] * 9;
		sum += p[i + 4] * 11; sum ^= p[i + 5] * 13; sum += p[i + 6] * 15; sum ^= p[i + 7] * 17;
		if (sum & 1)
			printf("%ld\n", sum);
	}
	return sum;
}

__attribute__((noinline)) long idle(long n) { return n * 3; }

int main(int argc, char **argv)
{
	long p[64] = {argc};
	printf("%ld %ld %ld\n", compute(argc), unrolled(p, 64), idle(argc));
	return 0;
}
