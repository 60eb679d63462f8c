package ftrace

import (
	"fmt"
	"strings"
)

// maxDepth bounds how deep expressions may nest. The kernel's own reach 20.
const maxDepth = 200

// compiler turns the arguments of a print format in nodes.
type compiler struct {
	format *Format
	opts   PrintOptions
	tokens []token
	pos    int
	depth  int
	locals map[string]node // variables of a statement expression
	table  bool            // in a table of names, where names that nobody knows may stand
}

func (c *compiler) peek() token { return c.tokens[c.pos] }

func (c *compiler) next() token {
	t := c.tokens[c.pos]
	if t.kind != tokenEnd {
		c.pos++
	}
	return t
}

func (c *compiler) is(operator string) bool {
	t := c.peek()
	return t.kind == tokenOperator && t.text == operator
}

func (c *compiler) accept(operator string) bool {
	if !c.is(operator) {
		return false
	}
	c.pos++
	return true
}

func (c *compiler) expect(operator string) error {
	if !c.accept(operator) {
		return fmt.Errorf("%q expected before %q", operator, c.peek().text)
	}
	return nil
}

// enter counts one level of nesting; its caller must leave.
func (c *compiler) enter() error {
	if c.depth++; c.depth > maxDepth {
		return fmt.Errorf("the expression nests deeper than %d levels", maxDepth)
	}
	return nil
}

func (c *compiler) leave() { c.depth-- }

// expression reads one expression, the conditional operator included.
func (c *compiler) expression() (node, error) {
	if err := c.enter(); err != nil {
		return nil, err
	}
	defer c.leave()
	condition, err := c.binary(1)
	if err != nil || !c.accept("?") {
		return condition, err
	}
	yes := condition // of GNU C's a ?: b
	if !c.is(":") {
		if yes, err = c.expression(); err != nil {
			return nil, err
		}
	}
	if err := c.expect(":"); err != nil {
		return nil, err
	}
	no, err := c.expression()
	if err != nil {
		return nil, err
	}
	return &conditionNode{condition: condition, yes: yes, no: no}, nil
}

// precedence of binary operators, 0 for what is none.
func precedence(t token) int {
	if t.kind != tokenOperator {
		return 0
	}
	switch t.text {
	case "||":
		return 1
	case "&&":
		return 2
	case "|":
		return 3
	case "^":
		return 4
	case "&":
		return 5
	case "==", "!=":
		return 6
	case "<", ">", "<=", ">=":
		return 7
	case "<<", ">>":
		return 8
	case "+", "-":
		return 9
	case "*", "/", "%":
		return 10
	}
	return 0
}

// binary reads operands joined by operators of at least that precedence.
func (c *compiler) binary(least int) (node, error) {
	left, err := c.unary()
	if err != nil {
		return nil, err
	}
	for {
		p := precedence(c.peek())
		if p == 0 || p < least {
			return left, nil
		}
		op := c.next().text
		right, err := c.binary(p + 1)
		if err != nil {
			return nil, err
		}
		left = fold(&binaryNode{op: op, a: left, b: right}, left, right)
	}
}

// fold calculates at once what depends on constants only.
func fold(n node, operands ...node) node {
	for _, operand := range operands {
		if _, ok := operand.(*constant); !ok {
			return n
		}
	}
	return &constant{n.eval(nil)}
}

func (c *compiler) unary() (node, error) {
	if err := c.enter(); err != nil {
		return nil, err
	}
	defer c.leave()
	t := c.peek()
	if t.kind != tokenOperator {
		return c.postfix()
	}
	switch t.text {
	case "-", "~", "!", "+", "*", "&":
		c.pos++
		arg, err := c.unary()
		if err != nil {
			return nil, err
		}
		return applyUnary(t.text[0], arg)
	case "(":
		if typ, ok := c.cast(); ok {
			arg, err := c.unary()
			if err != nil {
				return nil, err
			}
			return castTo(typ, arg), nil
		}
	}
	return c.postfix()
}

// castTo converts; to a type that isn't known, it leaves the value as it is.
func castTo(typ ctype, arg node) node {
	if typ.size == 0 {
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
		f, ok := arg.(*fieldNode)
		if !ok || f.data {
			return nil, fmt.Errorf("the address of what is no field")
		}
		return &addressNode{f.field}, nil
	}
	return fold(&unaryNode{op: op, arg: arg}, arg), nil
}

// cast reads "(type)" if that is what comes next. A name that is no known type
// counts as one where an operand follows the parenthesis.
func (c *compiler) cast() (ctype, bool) {
	end := c.pos + 1
	var words []string
	for ; c.tokens[end].kind == tokenName; end++ {
		words = append(words, c.tokens[end].text)
	}
	stars := 0
	for ; c.tokens[end].kind == tokenOperator && c.tokens[end].text == "*"; end++ {
		stars++
	}
	if len(words) == 0 || c.tokens[end].kind != tokenOperator || c.tokens[end].text != ")" {
		return ctype{}, false
	}
	name := strings.Join(words, " ")
	typ, known := c.typeNamed(name + strings.Repeat("*", stars))
	if !known {
		after := c.tokens[end+1]
		operand := after.kind != tokenEnd && (after.kind != tokenOperator || after.text == "(")
		_, local := c.locals[name]
		if !operand || local || name == "REC" {
			return ctype{}, false
		}
	}
	c.pos = end + 1
	return typ, true
}

// typeNamed looks a type up, among the types of the event's fields too.
func (c *compiler) typeNamed(name string) (ctype, bool) {
	if typ, ok := lookupType(name); ok {
		return typ, true
	}
	for i := range c.format.Fields {
		if f := &c.format.Fields[i]; f.Type == name && !f.Array && f.Location == Inline {
			if _, ok := uintOf(make([]byte, 8), f.Size); ok {
				return ctype{size: f.Size, signed: f.Signed}, true
			}
		}
	}
	return ctype{}, false
}
