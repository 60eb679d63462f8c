package printfmt

import (
	"errors"
	"fmt"
	"maps"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/text/cexpr"
)

// compiler compiles the arguments of a print format into nodes.
type compiler struct {
	format *ftrace.Format
	opts   Options
	locals map[string]node // variables of a statement expression
	table  bool            // in a table of names, which may contain unknown constants
}

func (c *compiler) node(x cexpr.Expr) (node, error) {
	switch x := x.(type) {
	case *cexpr.Number:
		return &constant{numberOf(x.Value, x.Type)}, nil
	case *cexpr.String:
		return &constant{value{kind: memory, memory: append([]byte(x.Text), 0), typ: cexpr.Type{Size: 1, Signed: true}}}, nil
	case *cexpr.Name:
		return c.name(x.Text)
	case *cexpr.Member:
		return c.member(x)
	case *cexpr.Call:
		return c.call(x)
	case *cexpr.SizeOf:
		return c.sizeOf(x)
	case *cexpr.Cast:
		arg, err := c.node(x.X)
		typ, _ := c.typeNamed(x.Type.String())
		return castTo(typ, arg), err
	case *cexpr.Operation:
		if x.Op == "({})" {
			return c.block(x.Args)
		}
		args, err := c.nodes(x.Args...)
		if err != nil {
			return nil, err
		}
		return operation(x.Op, args)
	}
	return nil, errors.New("a declaration where a value belongs")
}

func (c *compiler) nodes(list ...cexpr.Expr) ([]node, error) {
	nodes := make([]node, len(list))
	for i, x := range list {
		var err error
		if nodes[i], err = c.node(x); err != nil {
			return nil, err
		}
	}
	return nodes, nil
}

func operation(op string, args []node) (node, error) {
	switch {
	case op == "{}":
		return nil, errors.New("braces where a value belongs")
	case op == "[]":
		return &indexNode{array: args[0], index: args[1]}, nil
	case op == "?:":
		// In GNU C's a ?: b, the condition itself is the first choice.
		last := len(args) - 1
		return &conditionNode{condition: args[0], yes: args[last-1], no: args[last]}, nil
	case len(args) == 1:
		return applyUnary(op[0], args[0])
	}
	return fold(&binaryNode{op: op, a: args[0], b: args[1]}, args...), nil
}

// fold evaluates n now if all operands are constants.
func fold(n node, operands ...node) node {
	for _, operand := range operands {
		if _, ok := operand.(*constant); !ok {
			return n
		}
	}
	return &constant{n.eval(nil)}
}

// castTo converts arg to typ. If typ is unknown, it returns arg unchanged.
func castTo(typ cexpr.Type, arg node) node {
	if typ.Size == 0 {
		return arg
	}
	return fold(&castNode{typ: typ, arg: arg}, arg)
}

func applyUnary(op byte, arg node) (node, error) {
	switch op {
	case '+':
		return arg, nil
	case '*':
		return &indexNode{array: arg}, nil
	case '&':
		switch arg := arg.(type) {
		case *fieldNode:
			if !arg.data {
				return &addressNode{arg.field}, nil
			}
		case *indexNode:
			return &elementAddressNode{arg}, nil
		}
		return nil, errors.New("the address of what is no field")
	}
	return fold(&unaryNode{op: op, arg: arg}, arg), nil
}

// typeNamed looks up a type, also among the types of the event's fields.
func (c *compiler) typeNamed(name string) (cexpr.Type, bool) {
	if typ, ok := cexpr.LookupType(name); ok {
		return typ, true
	}
	for i := range c.format.Fields {
		if f := &c.format.Fields[i]; f.Type == name && !f.Array && f.Location == ftrace.Inline {
			if _, ok := cexpr.Load(make([]byte, 8), f.Size); ok {
				return cexpr.Type{Size: f.Size, Signed: f.Signed}, true
			}
		}
	}
	return cexpr.Type{}, false
}

// member compiles REC->name, the only use of -> that is supported, and REC->ent.name. Linux 7
// uses the latter for the common fields (struct trace_entry in include/linux/trace_events.h).
func (c *compiler) member(x *cexpr.Member) (node, error) {
	name, record := x.Name.Text, x
	if header, ok := x.X.(*cexpr.Member); ok && x.Op == "." && header.Name.Text == "ent" {
		name, record = "common_"+name, header
	}
	if base, ok := record.X.(*cexpr.Name); !ok || base.Text != "REC" || record.Op != "->" {
		return nil, fmt.Errorf("%s after something else than REC", x.Op)
	}
	f, err := c.field(name)
	if err != nil {
		return nil, err
	}
	return &fieldNode{field: f, typ: valueType(f)}, nil
}

func (c *compiler) field(name string) (*ftrace.Field, error) {
	if f := c.format.Field(name); f != nil {
		return f, nil
	}
	return nil, fmt.Errorf("the event has no field %q", name)
}

// valueType returns the type of a field's integer or of its elements.
func valueType(f *ftrace.Field) cexpr.Type {
	typ, ok := cexpr.LookupType(f.Type)
	if !ok || typ.Size != f.ElemSize {
		typ = cexpr.Type{Size: f.ElemSize}
	}
	typ.Signed = f.Signed && !typ.Pointer
	return typ
}

// name compiles a variable or a constant.
func (c *compiler) name(name string) (node, error) {
	if n, ok := c.locals[name]; ok {
		return n, nil
	}
	if c.opts.Constant != nil {
		if v, ok := c.opts.Constant(name); ok {
			return &constant{numberOf(uint64(v), cexpr.Long)}, nil
		}
	}
	if c.table || isKernelVariable(name) {
		return &unknownNode, nil
	}
	return nil, fmt.Errorf("nothing is known of %q", name)
}

// isKernelVariable reports whether name is a variable whose value is in no record. Results
// calculated from it are printed as a question mark.
func isKernelVariable(name string) bool {
	return name == "jiffies" || name == "vmemmap_base" || name == "memstart_addr"
}

func (c *compiler) sizeOf(x *cexpr.SizeOf) (node, error) {
	if x.X == nil {
		if typ, _ := c.typeNamed(x.Type.String()); typ.Size > 0 {
			return &constant{numberOf(uint64(typ.Size), cexpr.ULong)}, nil
		}
		return &unknownNode, nil // of a structure: the kernel uses it to calculate something that is in no record
	}
	n, err := c.node(x.X)
	if err != nil {
		return nil, err
	}
	if f, ok := n.(*fieldNode); ok && !f.data {
		return &constant{numberOf(uint64(f.field.Size), cexpr.ULong)}, nil
	}
	return &unknownNode, nil
}

// block compiles statements. Their variables are visible until its end.
func (c *compiler) block(statements []cexpr.Expr) (last node, err error) {
	outer := c.locals
	defer func() { c.locals = outer }()
	c.locals = make(map[string]node)
	maps.Copy(c.locals, outer)
	for _, x := range statements {
		declaration, ok := x.(*cexpr.Declaration)
		if ok {
			x = declaration.X
		}
		if last, err = c.node(x); err != nil {
			return nil, err
		}
		if ok {
			typ, known := c.typeNamed(declaration.Type.String())
			if !known {
				return nil, fmt.Errorf("%q has a type that is not known", declaration.Name)
			}
			c.locals[declaration.Name] = castTo(typ, last)
		}
	}
	return last, nil
}
