/* What the tests of package kprobe follow paths through, and functions whose
   arguments are where the calling convention says. make makes
   sys/kernel/btf/vmlinux of it. */
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef u32 __be32;
typedef _Bool bool_t;
typedef unsigned long size_t;

enum mood { ANGRY = -2, CALM = 3 };
enum flags { FLAG_A = 1, FLAG_B = 0x80000000 };
typedef struct { int counter; } counter_t;
typedef struct { struct { struct { u16 id; } inner; } outer; } id_t_;

struct text { union { struct { u32 hash, len; }; u64 both; }; const unsigned char *name; };

struct item;
struct ops { int (*open)(struct item *, int); void (*close)(void); };

struct sock_common { __be32 skc_daddr; u16 skc_num; unsigned char skc_reuse : 4, skc_more : 1; };
struct sock { struct sock_common __sk_common; int sk_own; };

struct item {
	u64 id;
	struct item *next;
	struct text text;
	char comm[16];
	unsigned char mac[6];
	u8 bytes[4];
	int numbers[5];
	struct text texts[2];
	struct item *items[3];
	const char *names[2];
	signed char tiny;
	short low;
	enum mood mood;
	enum flags flags;
	bool_t ready;
	u32 bit_a : 3, bit_b : 11, bit_c : 18;
	u64 wide : 37, rest : 27;
	bool_t yes : 1, no : 1;
	counter_t count;
	id_t_ deep;
	const struct ops *ops;
	void *data;
	double real;
	__int128 huge;
	u32 long_array[100];
	struct hidden *hidden;
	char *text_pointer;
	struct sock sock;
	int flexible[];
};

struct pair { long a; int b; char c; u8 d; };
struct small { short s; u8 t, u; };
struct big { long v[3]; int w; u8 x[4]; };
struct __attribute__((packed)) tight { u8 first; u32 second; };
union either { long number; struct item *item; };

long pointers(struct item *item, const char *name, struct item **list, char *buffer, size_t size, struct sock *sk) { return 0; }
struct pair registers(int i, struct small small, struct pair pair, bool_t flag, unsigned char c, long end) { struct pair p = {}; return p; }
struct big overflow(u32 a, struct pair pair, struct big big, long b, struct pair second, int c, struct tight tight, struct small small, union either either, u8 d, u64 e) { struct big r = {}; return r; }
int wide(u8 a, __int128 b, int c, struct pair p, long d, int e, __int128 f, short g) { return 0; }
void nothing(void) {}
int variadic(const char *format, ...) { return 0; }
const char *name_of(struct item *item) { return ""; }
struct item *next_of(struct item *item) { return 0; }
bool_t is_ready(struct item *item) { return 0; }
