package allocator

import "strings"

// Effect says what a call does to the memory of its process.
type Effect uint8

// The effects of calls.
const (
	Allocates   Effect = iota // returns memory, or 0
	Reallocates               // frees Pointer and returns memory; or returns 0, and then frees nothing
	Frees                     // frees Pointer
	Maps                      // maps Size bytes at the returned address, or returns -1
	Unmaps                    // unmaps Size bytes at Pointer
	Remaps                    // moves the OldSize bytes at Pointer, or returns -1
)

// Function is a function of an allocator. Size, Times, Pointer, OldSize, Through and Align are
// numbers of arguments in the calling convention, from 1; 0 if there is none.
type Function struct {
	Name    string // as in the symbol table, mangled
	Effect  Effect
	Size    int // wanted bytes
	Times   int // factor of Size
	Pointer int // memory that is freed, unmapped or moved
	OldSize int // bytes at Pointer
	// Through points to where the function writes the address. It then returns 0 or an error
	// number.
	Through int
	Align   int // the address is a multiple of this argument
	// Written is 1 + perf's number of a register that still has the written address when the
	// function returns; 0 if none is known. By the time the record is read, the memory at Through
	// may have changed.
	Written uint8
	// throws says that the function throws an exception if there is no memory. The kernel's return
	// probes replace the return address on the stack. An exception cannot get past it, so that the
	// program ends. See Where.ThrowingNew.
	throws bool
}

// Returns reports whether the return value matters.
func (f *Function) Returns() bool { return f.Effect != Frees && f.Effect != Unmaps }

// maps reports whether the function maps memory.
func (f *Function) maps() bool { return f.Effect == Maps || f.Effect == Remaps }

// functions are the functions of libc (malloc(3), posix_memalign(3), mmap(2), mremap(2)),
// jemalloc(3) and gperftools' tcmalloc (src/gperftools/tcmalloc.h.in). In Rust programs jemalloc's
// names start with _rjem_.
var functions = named()

// ownOperators are functions that show that an allocator's operators new and delete do not call
// malloc.
var ownOperators = []string{"mallocx", "je_mallocx", "tc_malloc", "mi_malloc"}

// wanted are the names to look for in files.
var wanted = func() (all []string) {
	for i := range functions {
		all = append(all, functions[i].Name)
	}
	return append(all, ownOperators...)
}()

// Named returns the function with the given name, or nil.
func Named(name string) *Function {
	for i := range functions {
		if functions[i].Name == name {
			return &functions[i]
		}
	}
	return nil
}

func named() []Function {
	standard := []Function{
		{Name: "malloc", Size: 1},
		{Name: "calloc", Size: 1, Times: 2},
		{Name: "realloc", Effect: Reallocates, Pointer: 1, Size: 2},
		{Name: "posix_memalign", Through: 1, Align: 2, Size: 3},
		{Name: "aligned_alloc", Size: 2},
		{Name: "memalign", Size: 2},
		{Name: "valloc", Size: 1},
		{Name: "pvalloc", Size: 1},
		{Name: "free", Effect: Frees, Pointer: 1},
		{Name: "cfree", Effect: Frees, Pointer: 1},
		{Name: "free_sized", Effect: Frees, Pointer: 1},
	}
	all := append([]Function{
		{Name: "reallocarray", Effect: Reallocates, Pointer: 1, Size: 2, Times: 3},
		{Name: "free_aligned_sized", Effect: Frees, Pointer: 1},
		{Name: "mmap", Effect: Maps, Size: 2},
		{Name: "mmap64", Effect: Maps, Size: 2},
		{Name: "munmap", Effect: Unmaps, Pointer: 1, Size: 2},
		{Name: "mremap", Effect: Remaps, Pointer: 1, OldSize: 2, Size: 3},
	}, standard...)
	for _, prefix := range []string{"je_", "_rjem_", "tc_"} {
		for _, f := range standard {
			f.Name = prefix + f.Name
			all = append(all, f)
		}
	}
	for _, prefix := range []string{"", "je_", "_rjem_"} {
		all = append(all,
			Function{Name: prefix + "mallocx", Size: 1},
			Function{Name: prefix + "rallocx", Effect: Reallocates, Pointer: 1, Size: 2},
			Function{Name: prefix + "dallocx", Effect: Frees, Pointer: 1},
			Function{Name: prefix + "sdallocx", Effect: Frees, Pointer: 1})
	}
	return append(all, operators()...)
}

// operators returns C++'s new and delete by their names in the Itanium ABI: plain and for arrays,
// with an alignment, without exceptions, with a size.
func operators() (all []Function) {
	for _, array := range []string{"w", "a"} {
		for _, rest := range []string{"", "RKSt9nothrow_t", "St11align_val_t", "St11align_val_tRKSt9nothrow_t"} {
			all = append(all, Function{Name: "_Zn" + array + "m" + rest, Size: 1, throws: !strings.HasSuffix(rest, "nothrow_t")})
		}
	}
	for _, array := range []string{"l", "a"} {
		for _, rest := range []string{"", "m", "RKSt9nothrow_t", "St11align_val_t", "mSt11align_val_t", "St11align_val_tRKSt9nothrow_t"} {
			all = append(all, Function{Name: "_Zd" + array + "Pv" + rest, Effect: Frees, Pointer: 1})
		}
	}
	return all
}

// isOperator reports whether a function is one of operators.
func (f *Function) isOperator() bool { return strings.HasPrefix(f.Name, "_Z") }
