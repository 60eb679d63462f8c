// A program for ringtap diff: functions that take turns. If it is built with -DHALF=2, work0 does half
// of its iterations. The turns are random, so that they do not keep step with the samples.
#ifndef HALF
#define HALF 1
#endif

enum { calls = 4000, iterations = 600000 };

static volatile unsigned long sink;

#define WORK(i) __attribute__((noinline)) static void work##i(long n) { for (long k = 0; k < n; k++) sink += k ^ (i + 1); }
WORK(0) WORK(1) WORK(2) WORK(3) WORK(4) WORK(5) WORK(6) WORK(7)
WORK(8) WORK(9) WORK(10) WORK(11) WORK(12) WORK(13) WORK(14) WORK(15)

int main(void) {
	void (*work[])(long) = {work0, work1, work2, work3, work4, work5, work6, work7,
		work8, work9, work10, work11, work12, work13, work14, work15};
	enum { n = sizeof work / sizeof work[0] };
	unsigned long random = 1;
	for (int c = 0; c < calls; c++) {
		random = random * 6364136223846793005 + 1442695040888963407; // Knuth, MMIX
		int i = (random >> 33) % n;
		work[i](i == 0 ? 3 * iterations / HALF : iterations);
	}
	return 0;
}
