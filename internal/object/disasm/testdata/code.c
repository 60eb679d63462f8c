// Code with what compilers make most: loops, calls, switches, floating point, vectors, atomics.
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static _Atomic long total;
static __thread long mine;

double dot(const double *a, const double *b, size_t n)
{
	double sum = 0;
	for (size_t i = 0; i < n; i++)
		sum += a[i] * b[i];
	return sum;
}

void scale(float *a, size_t n, float by)
{
	for (size_t i = 0; i < n; i++)
		a[i] = a[i] * by + 1.5f;
}

uint32_t crc(const unsigned char *p, size_t n)
{
	uint32_t c = ~0u;
	while (n--) {
		c ^= *p++;
		for (int k = 0; k < 8; k++)
			c = c & 1 ? c >> 1 ^ 0xedb88320 : c >> 1;
	}
	return ~c;
}

long choose(int what, long x, long y)
{
	switch (what) {
	case 0: return x + y;
	case 1: return x * y;
	case 2: return y ? x / y : 0;
	case 3: return x % (y | 1);
	case 4: return x << (y & 63);
	case 5: return x & 0x00ff00ff00ff00ff;
	case 6: return x < y ? x : y;
	}
	mine += x;
	atomic_fetch_add(&total, mine);
	return total;
}

static int compare(const void *a, const void *b) { return memcmp(a, b, 24); }

int main(int argc, char **argv)
{
	char *copy = strdup(argv[0]);
	qsort(copy, strlen(copy) / 24, 24, compare);
	double v[64] = {1, 2, 3};
	float w[64] = {1, 2, 3};
	scale(w, argc, w[argc]);
	return dot(v, v, argc) + crc((unsigned char *)copy, argc) + choose(argc, argc, w[0]);
}
