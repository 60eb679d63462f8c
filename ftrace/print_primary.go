package ftrace

import (
	"fmt"
	"strings"
)

// recordNode is REC itself, which only -> may follow.
type recordNode struct{}

func (*recordNode) eval([]byte) value { return value{} }

// postfix reads an operand and what is appended to it: ->name, [index].
func (c *compiler) postfix() (node, error) {
	n, err := c.primary()
	if err != nil {
		return nil, err
	}
	for {
		switch {
		case c.accept("->"):
			n, err = c.member(n)
		case c.accept("["):
			n, err = c.index(n)
		default:
			if _, ok := n.(*recordNode); ok && !c.is(")") {
				return nil, fmt.Errorf("REC without a field")
			}
			return n, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

func (c *compiler) member(n node) (node, error) {
	name := c.next()
	if _, ok := n.(*recordNode); !ok || name.kind != tokenName {
		return nil, fmt.Errorf("-> after something else than REC")
	}
	f, err := c.field(name.text)
	if err != nil {
		return nil, err
	}
	return &fieldNode{field: f, typ: valueType(f)}, nil
}

func (c *compiler) field(name string) (*Field, error) {
	if f := c.format.Field(name); f != nil {
		return f, nil
	}
	return nil, fmt.Errorf("the event has no field %q", name)
}

// valueType is the type of a field's integer or of its elements.
func valueType(f *Field) ctype {
	typ, ok := lookupType(f.Type)
	if !ok || typ.size != f.ElemSize {
		typ = ctype{size: f.ElemSize}
	}
	typ.signed = f.Signed && !typ.pointer
	return typ
}

func (c *compiler) index(array node) (node, error) {
	at, err := c.expression()
	if err != nil {
		return nil, err
	}
	if err := c.expect("]"); err != nil {
		return nil, err
	}
	return &indexNode{array: array, index: at}, nil
}

func (c *compiler) primary() (node, error) {
	t := c.next()
	switch t.kind {
	case tokenNumber, tokenChar:
		return &constant{numberOf(t.number, t.typ)}, nil
	case tokenString:
		return &constant{value{kind: memory, memory: append([]byte(t.text), 0), typ: ctype{size: 1, signed: true}}}, nil
	case tokenName:
		return c.name(t.text)
	case tokenOperator:
		if t.text == "(" {
			return c.parenthesis()
		}
	}
	return nil, fmt.Errorf("no operand: %q", t.text)
}

func (c *compiler) parenthesis() (node, error) {
	if c.accept("{") {
		return c.statements()
	}
	n, err := c.expression()
	if err != nil {
		return nil, err
	}
	return n, c.expect(")")
}

// name reads what a name starts: a function's call, a variable, a constant.
func (c *compiler) name(name string) (node, error) {
	if name == "REC" {
		return &recordNode{}, nil
	}
	if name == "sizeof" {
		return c.sizeof()
	}
	if c.accept("(") {
		return c.call(name)
	}
	if n, ok := c.locals[name]; ok {
		return n, nil
	}
	if c.opts.Constant != nil {
		if v, ok := c.opts.Constant(name); ok {
			return &constant{numberOf(uint64(v), typeLong)}, nil
		}
	}
	if c.table || isKernelVariable(name) {
		return &unknownNode, nil
	}
	return nil, fmt.Errorf("nothing is known of %q", name)
}

// isKernelVariable tells of variables whose value is in no record. What is
// calculated from them is printed as a question mark.
func isKernelVariable(name string) bool {
	return name == "jiffies" || name == "vmemmap_base" || name == "memstart_addr"
}

func (c *compiler) sizeof() (node, error) {
	if err := c.expect("("); err != nil {
		return nil, err
	}
	c.pos-- // cast starts at the parenthesis
	if typ, ok := c.cast(); ok && typ.size > 0 {
		return &constant{numberOf(uint64(typ.size), typeULong)}, nil
	}
	if err := c.expect("("); err != nil {
		return nil, fmt.Errorf("the size of a type that is not known")
	}
	if t := c.peek(); t.kind == tokenName && t.text == "struct" {
		c.next()
		c.next() // its name: what the kernel calculates from its size is in no record
		return &unknownNode, c.expect(")")
	}
	n, err := c.expression()
	if err != nil {
		return nil, err
	}
	if f, ok := n.(*fieldNode); ok && !f.data {
		n = &constant{numberOf(uint64(f.field.Size), typeULong)}
	} else {
		n = &unknownNode
	}
	return n, c.expect(")")
}

// statements reads GNU C's ({ int x = …; …; value; }), which min() and max()
// become.
func (c *compiler) statements() (node, error) {
	outer := c.locals
	defer func() { c.locals = outer }()
	c.locals = make(map[string]node)
	for name, n := range outer {
		c.locals[name] = n
	}
	var last node
	for !c.accept("}") {
		n, err := c.statement()
		if err != nil {
			return nil, err
		}
		if err := c.expect(";"); err != nil {
			return nil, err
		}
		last = n
	}
	if last == nil {
		return nil, fmt.Errorf("statements without a value")
	}
	return last, c.expect(")")
}

func (c *compiler) statement() (node, error) {
	end := c.pos
	var words []string
	for c.tokens[end].kind == tokenName || c.tokens[end].text == "*" && c.tokens[end].kind == tokenOperator {
		words = append(words, c.tokens[end].text)
		end++
	}
	if len(words) < 2 || c.tokens[end].kind != tokenOperator || c.tokens[end].text != "=" {
		return c.expression()
	}
	variable := words[len(words)-1]
	typ, ok := c.typeNamed(strings.Join(words[:len(words)-1], " "))
	if !ok {
		return nil, fmt.Errorf("%q has a type that is not known", variable)
	}
	c.pos = end + 1
	n, err := c.expression()
	if err != nil {
		return nil, err
	}
	c.locals[variable] = castTo(typ, n)
	return n, nil
}
