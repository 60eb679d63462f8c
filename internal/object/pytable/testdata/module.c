// A module's tables, as C lays them out, and some that look like them. The tests build it
// for each architecture without symbols; module.elf, a seed of fuzzing, is made by
//
//	gcc -shared -nostdlib -fPIC -Os -s -Wl,-z,noseparate-code,--build-id=none -o module.elf module.c
typedef void *P;
typedef long W;

struct method { const char *name; P function; int flags; const char *doc; };
struct getset { const char *name; P get, set; const char *doc; P closure; };
struct type {
	W refs; P type; W size; const char *name; W basic, item;
	P dealloc, vectorcall, getattr, setattr, async, repr, number, sequence, mapping, hash, call, str, getattro, setattro, buffer;
	W flags; const char *doc; P traverse, clear, richcompare; W weak; P iter, iternext;
	struct method *methods; P members; struct getset *getset; struct type *base; P dict, get, set; W dictoffset;
	P init, alloc, new, free, is_gc, bases, mro, cache, subclasses, weaklist, del; W version; P finalize;
};
struct module { W refs; P type, init; W index; P copy; const char *name, *doc; W size; struct method *methods; P slots, traverse, clear, free; };
struct slot { int id; P value; };
struct spec { const char *name; int basic, item; unsigned flags; struct slot *slots; };

int PyModuleDef_Init(struct module *);
#define F(name) P name(P x) { return (char *)x + __COUNTER__; }
F(f_dealloc) F(f_item) F(f_append) F(f_x_get) F(f_x_set) F(f_shared) F(f_twice) F(f_many)
F(f_sqrt) F(f_free) F(f_match) F(f_pattern_new) F(f_getitem) F(f_exec) F(f_lookalike)

static P sequence[10] = {[3] = f_item, [7] = f_many};
static P mapping[3] = {0, f_getitem};
static struct method methods[] = {{"append", f_append, 1, "it appends"}, {"__getitem__", f_getitem, 8}, {0}};
static struct getset attributes[] = {{"x", f_x_get, f_x_set}, {0}};

struct type list = {1, .name = "list", .basic = 40, .dealloc = f_dealloc, .sequence = sequence, .mapping = mapping,
	.methods = methods, .getset = attributes, .free = f_free, .str = f_many};
// A type that derives from another one, and one that has the same function by itself.
struct type base = {1, .name = "base", .basic = 16, .dealloc = f_shared, .repr = f_twice};
struct type derived = {1, .name = "derived", .basic = 16, .dealloc = f_shared, .base = &base};
struct type other = {0xffffffff, .name = "other", .basic = 16, .repr = f_twice, .str = f_many};

static struct method functions[] = {{"sqrt", f_sqrt, 8}, {0}};
static struct slot slots_of_module[] = {{2, f_exec}, {0}};
struct module math = {1, .name = "math", .doc = "text", .methods = functions, .slots = slots_of_module, .free = f_free};

static struct method pattern_methods[] = {{"match", f_match, 0x82}, {0}};
static struct slot slots[] = {{64, pattern_methods}, {65, f_pattern_new}, {56, "it has a text"}, {0}};
struct spec pattern = {"re.Pattern", 64, 0, 0x500, slots};

// What is not all as it has to be.
struct type no_function = {1, .name = "no_function", .basic = 16, .dealloc = f_lookalike, .hash = &math};
struct type no_name = {1, .name = "no\nname", .basic = 16, .dealloc = f_lookalike};
struct type negative = {1, .name = "negative", .basic = -8, .dealloc = f_lookalike};
struct type freed = {0, .name = "freed", .basic = 16, .dealloc = f_lookalike};
static struct slot twice[] = {{65, f_lookalike}, {65, f_lookalike}, {0}};
struct spec no_slots = {"no_slots", 64, 0, 0x500, twice};

int PyInit_math(void) { return PyModuleDef_Init(&math); }
