/* Types of every kind, for the tests of package btf; testdata/make makes types.btf
   of them. Every one is reached from a function or a variable, so that compilers
   keep it. */
typedef unsigned char u8;
typedef unsigned int u32;
typedef long long s64;
typedef _Bool flag_t;

struct later;
union later_union;
enum big { SMALL, HUGE_VALUE = 0xffffffffu };
enum wide { WIDE = 0x123456789abcull, NEGATIVE = -5 };
typedef enum { ANONYMOUS_A, ANONYMOUS_B } choice_t;

struct bits {
	u32 a : 3, b : 7, : 5, c : 1;
	s64 d : 40;
	enum color { RED = -1, GREEN = 2, BLUE = 5 } e : 4;
	flag_t f : 1;
	u8 g;
	int h : 31;
};

struct __attribute__((packed)) tight {
	u8 first;
	u32 second;
	unsigned long third : 33;
	unsigned short fourth;
};

struct inner { int x, y; };

struct outer {
	struct inner one;
	union {
		struct { u8 low, high; };
		unsigned short both;
		union { char text[4]; u32 word; } named;
	};
	struct inner many[3];
	int grid[10];
	struct outer *next, **nexts;
	const char *name;
	char *const fixed;
	volatile int busy;
	const volatile u32 *reg;
	int (*call)(struct outer *self, const char *restrict path, ...);
	int (*calls[4])(void);
	void (*(*factory)(int kind))(struct later *);
	int (*row)[5];
	const int (*const rows)[5];
	struct later *later;
	union later_union *later_union;
	enum color color;
	enum big big;
	enum wide wide;
	choice_t choice;
	struct bits bits;
	flag_t flag;
	__int128 wide_number;
	float single;
	double twice;
	void *anything;
	const void *anything_const;
	unsigned long long numbers[];
};

struct wrapper { struct { union { int deep; }; }; };

struct outer *find(struct outer *from, const char *name, enum color color) { return color ? from : (void *)name; }
void nothing(void) {}
int variadic(const char *format, ...) { return !format; }
static long hidden(struct tight t, struct wrapper *w) { return t.second + w->deep; }
long use(struct wrapper *w) { struct tight t = { 1 }; return hidden(t, w); }
struct outer everything;
