package check

import (
	"slices"

	"github.com/ringtap/ringtap/internal/bpftrace/syntax"
	"github.com/ringtap/ringtap/internal/bpftrace/types"
)

// iterates reports whether all attach points of the probe are iterators, whose arguments are in
// ctx.
func (c *checker) iterates() bool {
	return c.probe != nil && len(c.probe.Points) > 0 &&
		!slices.ContainsFunc(c.probe.Points, func(p *syntax.AttachPoint) bool { return p.Provider != "iter" })
}

// maxPath is the kernel's PATH_MAX, in bytes.
const maxPath = 4096

// path checks path() of the file that an iterator is at: ctx.file.f_path, or
// ctx.vma.vm_file.f_path.
func (c *checker) path(e *syntax.Call) Expr {
	if !c.arity(e, 1, 2) {
		return bad(e.Pos)
	}
	x := c.expr(e.Args[0])
	switch x.Type() {
	case wrong:
		return x
	case pending:
		return unknownUntilFinal(c, e.Pos)
	}
	if l, ok := x.(*Load); ok && l.T.Name == "struct path" {
		p := c.origin(l.Addr)
		if p != nil && p.root.Root == FieldRoot && (p.root.Name == "file" && len(p.steps) == 1 || p.root.Name == "vma" && len(p.steps) == 2) {
			return c.source(e.Pos, &Source{Root: FieldRoot, Name: "path", Type: &types.Type{Kind: types.String, Size: maxPath}})
		}
	}
	c.hintf(e.Args[0].Position(), "path(ctx.file.f_path) at iter:task_file and path(ctx.vma.vm_file.f_path) at iter:task_vma have one", "the path of this is not known")
	return bad(e.Pos)
}
