/* What a module adds to types.c: split BTF, module.btf. */
#include "types.c"

struct added { struct outer *from; struct { char label[8]; }; struct inner pair; };

int take(struct added *a, struct inner *b, u32 count) { return a && b && count; }
