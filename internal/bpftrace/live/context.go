package live

import (
	"errors"
	"slices"
	"strings"

	"github.com/ringtap/ringtap/internal/bpftrace/syntax"
	"github.com/ringtap/ringtap/internal/bpftrace/types"
)

// Iterators returns the names of the lists that programs can go through with iter:NAME.
func Iterators() []string { return []string{"task", "task_file", "task_vma"} }

// context returns the type of ctx in an iterator: the kernel's struct bpf_iter__NAME without the
// members that only BPF has.
func (a *Arguments) context(p *syntax.AttachPoint) (*types.Type, error) {
	if !slices.Contains(Iterators(), p.Args[0]) {
		return nil, errors.New("there is no iterator of that name")
	}
	ctx := &types.Type{Kind: types.Struct, Name: "struct bpf_iter__" + p.Args[0]}
	add := func(name string, t *types.Type) {
		ctx.Fields = append(ctx.Fields, types.Field{Name: name, Type: t, Offset: ctx.Size})
		ctx.Size += 8
	}
	add("task", a.pointer("struct task_struct"))
	switch list := strings.TrimPrefix(p.Args[0], "task_"); list {
	case "file":
		add("fd", types.Uint32)
		add("file", a.pointer("struct file"))
	case "vma":
		add("vma", a.pointer("struct vm_area_struct"))
	}
	return ctx, nil
}

// pointer returns the type of a pointer to a struct of the kernel. Without type information, the struct has no
// members.
func (a *Arguments) pointer(name string) *types.Type {
	elem := &types.Type{Kind: types.Struct, Name: name}
	if a.BTF != nil {
		if t, _, ok := a.BTF.Type(name); ok {
			elem = t
		}
	}
	return &types.Type{Kind: types.Pointer, Size: 8, Elem: elem}
}
