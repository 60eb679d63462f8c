package printfmt

import (
	"errors"
	"strconv"

	"github.com/ringtap/ringtap/internal/text/cexpr"
)

// tableEntry is one { mask, "name" } of __print_flags or __print_symbolic.
type tableEntry struct {
	mask uint64
	name string
}

// entries compiles {mask, "name"}, …. If a mask is unknown, the entry is left out, so that its
// bits are printed as a number.
func (c *compiler) entries(list []cexpr.Expr) (table []tableEntry, err error) {
	c.table = true
	defer func() { c.table = false }()
	for _, x := range list {
		entry, ok := x.(*cexpr.Operation)
		if !ok || entry.Op != "{}" || len(entry.Args) != 0 && len(entry.Args) != 2 {
			return nil, errors.New("a table's entry is {VALUE, NAME}")
		}
		if len(entry.Args) == 0 {
			continue // the kernel's tables end with such an entry
		}
		nodes, err := c.nodes(entry.Args...)
		if err != nil {
			return nil, err
		}
		m, s := nodes[0].eval(nil), nodes[1].eval(nil)
		if m.kind == number && s.kind == memory {
			table = append(table, tableEntry{m.number, string(untilZero(s.memory))})
		}
	}
	return table, nil
}

func (c *compiler) flags(x *cexpr.Call) (node, error) {
	if len(x.Args) < 2 {
		return nil, wrongArguments(x)
	}
	args, err := c.nodes(x.Args[:2]...)
	if err != nil {
		return nil, err
	}
	d := args[1].eval(nil)
	if d.kind == unknown {
		return nil, errors.New("__print_flags with a delimiter that is no constant")
	}
	table, err := c.entries(x.Args[2:])
	return &flagsNode{arg: args[0], delimiter: string(untilZero(d.memory)), table: table}, err
}

func (c *compiler) symbolic(x *cexpr.Call) (node, error) {
	if len(x.Args) == 0 {
		return nil, wrongArguments(x)
	}
	arg, err := c.node(x.Args[0])
	if err != nil {
		return nil, err
	}
	table, err := c.entries(x.Args[1:])
	return &symbolicNode{arg: arg, table: table}, err
}

// flagsNode prints the names of the bits of a number, and the remaining bits in hexadecimal
// (trace_print_flags_seq). A mask of several bits matches if all are set.
type flagsNode struct {
	arg       node
	delimiter string
	table     []tableEntry
}

func (*flagsNode) eval([]byte) value { return value{} }

func (n *flagsNode) appendText(dst, raw []byte) []byte {
	v := n.arg.eval(raw)
	if v.kind != number {
		return append(dst, unknownText...)
	}
	bits, first := v.number, true
	for _, e := range n.table {
		if bits == 0 {
			break
		}
		if bits&e.mask != e.mask {
			continue
		}
		bits &^= e.mask
		if !first {
			dst = append(dst, n.delimiter...)
		}
		first = false
		dst = append(dst, e.name...)
	}
	if bits != 0 {
		if !first {
			dst = append(dst, n.delimiter...)
		}
		dst = strconv.AppendUint(append(dst, "0x"...), bits, 16)
	}
	return dst
}

// symbolicNode prints the name of a number (trace_print_symbols_seq).
type symbolicNode struct {
	arg   node
	table []tableEntry
	other string // for numbers without a name; if "", the number is printed
}

func (*symbolicNode) eval([]byte) value { return value{} }

func (n *symbolicNode) appendText(dst, raw []byte) []byte {
	v := n.arg.eval(raw)
	if v.kind != number {
		return append(dst, unknownText...)
	}
	for _, e := range n.table {
		if e.mask == v.number && e.name != "" {
			return append(dst, e.name...)
		}
	}
	if n.other != "" {
		return append(dst, n.other...)
	}
	return strconv.AppendUint(append(dst, "0x"...), v.number, 16)
}
