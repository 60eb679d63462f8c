/* What a module adds to types.c. */
#include "types.c"
struct hidden { int secret; };
struct added { struct item *item; u16 own; };
int module_function(struct added *added, struct item *item, u32 count) { return 0; }
struct hidden *keep;
