package check

import (
	"slices"

	"github.com/ringtap/ringtap/internal/bpftrace/syntax"
	"github.com/ringtap/ringtap/internal/bpftrace/types"
)

// A Root is a value of a hit from which others are reached.
type Root uint8

// The roots.
const (
	ArgRoot        Root = iota // argN, Source.N
	ReturnRoot                 // retval
	FieldRoot                  // args.Name
	RegisterRoot               // reg(Name)
	StackArgRoot               // sargN
	KStackRoot                 // kstack; Source.Type has mode and limit
	UStackRoot                 // ustack
	FuncRoot                   // func
	UIDRoot                    // uid
	GIDRoot                    // gid
	CgroupRoot                 // cgroup
	TaskRoot                   // curtask
	ParentRoot                 // ppid
	LeaderRoot                 // leader_tid
	ParentCommRoot             // pcomm
	LeaderCommRoot             // leader_comm
	NUMARoot                   // numaid
	UserModeRoot               // usermode
	SymbolRoot                 // kaddr(Name) or a literal address, in Source.Address
	VariableRoot               // uaddr(Name), at its address in the process
)

// A Step is one step on the way to a memory address. It adds Offset and, if Deref is set, reads the
// pointer there.
type Step struct {
	Offset int
	Deref  bool
}

// Form is how the value of a Source is read.
type Form uint8

// The forms.
const (
	Plain  Form = iota // the root itself, or, with a Path, the value of type Type at the address
	Text               // the string at the address, at most Size bytes with its terminating zero
	Bytes              // Size bytes at the address
	Vector             // the strings that a vector of pointers at the address points to, as in join
)

// A Source is a value that a clause needs from a hit. If Path is empty and Form is Plain, it is the
// root itself. Otherwise Path leads from the root to an address, and Form says how to read the
// value there. *(int *)(arg0 + 8) has the path {8, false}, and str(*(arg0 + 8)) has {8, true}.
type Source struct {
	syntax.Pos // of its first use
	Root       Root
	N          int    // of ArgRoot and StackArgRoot
	Name       string // of FieldRoot, RegisterRoot and VariableRoot
	Address    uint64 // of SymbolRoot
	Path       []Step
	Form       Form
	Size       int         // in bytes, of Text and Bytes
	User       bool        // the address is in user memory
	Type       *types.Type // of the value
}

// same reports whether two sources are the same value.
func (s *Source) same(o *Source) bool {
	return s.Root == o.Root && s.N == o.N && s.Name == o.Name && s.Address == o.Address &&
		slices.Equal(s.Path, o.Path) && s.Form == o.Form && s.Size == o.Size && s.User == o.User &&
		equal(s.Type, o.Type)
}
