package check

import (
	"slices"

	"github.com/ringtap/ringtap/internal/script/syntax"
	"github.com/ringtap/ringtap/internal/script/types"
)

// A Root is where a value that comes from a hit starts.
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
	SymbolRoot                 // a fixed address: kaddr(Name), a literal; Source.Address
	VariableRoot               // uaddr(Name): where the process has it
)

// A Step goes from one value to the next on the way to memory: it adds Offset to the address
// and, with Deref, reads the pointer there.
type Step struct {
	Offset int
	Deref  bool
}

// Form is how the last value of a Source is read.
type Form uint8

// The forms.
const (
	Plain  Form = iota // the root itself, or, with a Path, Type's bytes at the address
	Text               // the string at the address, at most Size bytes with its end
	Bytes              // Size bytes at the address
	Vector             // the strings of a vector of pointers at the address, as join reads it
)

// A Source is a value that a clause needs from a hit. With an empty Path and the form Plain it is
// the root itself. Otherwise Path leads from the root to an address, and Form says how the value
// at that address is read: *(int *)(arg0 + 8) has the path {8, false}, and str(*(arg0 + 8)) the
// path {8, true}.
type Source struct {
	syntax.Pos // of its first use
	Root       Root
	N          int    // of ArgRoot and StackArgRoot
	Name       string // of FieldRoot, RegisterRoot and VariableRoot
	Address    uint64 // of SymbolRoot
	Path       []Step
	Form       Form
	Size       int         // bytes, of Text and Bytes
	User       bool        // the address is one of user memory
	Type       *types.Type // of the value
}

// same tells whether two sources are one value.
func (s *Source) same(o *Source) bool {
	return s.Root == o.Root && s.N == o.N && s.Name == o.Name && s.Address == o.Address &&
		slices.Equal(s.Path, o.Path) && s.Form == o.Form && s.Size == o.Size && s.User == o.User &&
		equal(s.Type, o.Type)
}
