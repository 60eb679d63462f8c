package allocator

import "strings"

// Effect is what a call does to the memory of its process.
type Effect uint8

// The effects of calls.
const (
	Allocates   Effect = iota // returns memory, or 0
	Reallocates               // frees what Pointer has and returns memory; or 0, and then it is as it was
	Frees                     // frees what Pointer has
	Maps                      // maps Size bytes, at what it returns, or returns -1
	Unmaps                    // unmaps Size bytes at Pointer
	Remaps                    // maps what was OldSize bytes at Pointer elsewhere, or returns -1
)

// Function is a function of an allocator. Size and the like are numbers of
// arguments by the calling convention, from 1 on; 0 if there is none.
type Function struct {
	Name    string // raw, as the linker knows it
	Effect  Effect
	Size    int // bytes that are wanted,
	Times   int // so many times
	Pointer int // what is freed, unmapped or moved
	OldSize int // bytes at Pointer
	// Through points to where the address is written, in place of returning it;
	// then what is returned is 0 or an error.
	Through int
	Align   int // the address is a multiple of; 0 where that is not an argument
	// Written is a register that the address, written by way of Through, is still in when
	// the function returns: perf's number of it and 1; 0 is none that is known. Who reads
	// the records finds other memory where the pointer leads.
	Written uint8
	// Throws says that the function throws an exception where there is no memory.
	// The kernel's return probes have the return address on the stack replaced, so
	// that none gets through them: the program ends. See Where.ThrowingNew.
	Throws bool
}

// Returns tells whether the function's return says something.
func (f *Function) Returns() bool { return f.Effect != Frees && f.Effect != Unmaps }

// maps reports whether the function maps memory.
func (f *Function) maps() bool { return f.Effect == Maps || f.Effect == Remaps }

// functions are those of libc (malloc(3), posix_memalign(3), mmap(2), mremap(2)),
// jemalloc(3), which Rust programs have under names of their own (_rjem_), and
// gperftools' tcmalloc (src/gperftools/tcmalloc.h.in).
var functions = named()

// ownOperators are functions that only an allocator has whose operators new and
// delete do not go through malloc.
var ownOperators = []string{"mallocx", "je_mallocx", "tc_malloc", "mi_malloc"}

// wanted are the names that files are looked through for.
var wanted = func() (all []string) {
	for i := range functions {
		all = append(all, functions[i].Name)
	}
	return append(all, ownOperators...)
}()

// Named returns the function of a name, nil if no allocator has one.
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

// operators are C++'s new and delete, by the Itanium ABI's names of their forms:
// plain and for arrays, with an alignment, without exceptions, with a size.
func operators() (all []Function) {
	for _, array := range []string{"w", "a"} {
		for _, rest := range []string{"", "RKSt9nothrow_t", "St11align_val_t", "St11align_val_tRKSt9nothrow_t"} {
			all = append(all, Function{Name: "_Zn" + array + "m" + rest, Size: 1, Throws: !strings.HasSuffix(rest, "nothrow_t")})
		}
	}
	for _, array := range []string{"l", "a"} {
		for _, rest := range []string{"", "m", "RKSt9nothrow_t", "St11align_val_t", "mSt11align_val_t", "St11align_val_tRKSt9nothrow_t"} {
			all = append(all, Function{Name: "_Zd" + array + "Pv" + rest, Effect: Frees, Pointer: 1})
		}
	}
	return all
}

// isOperator tells whether a function is one of operators.
func (f *Function) isOperator() bool { return strings.HasPrefix(f.Name, "_Z") }
