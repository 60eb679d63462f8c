package dwarfparam

import (
	"debug/dwarf"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/ringtap/ringtap/internal/object/bytecursor"
	"github.com/ringtap/ringtap/internal/text/cexpr"
	"github.com/ringtap/ringtap/internal/text/match"
	"github.com/ringtap/ringtap/symbols/dwarfline"
)

// InstructionPointer is the Register of a Value at a fixed distance from the instruction.
const InstructionPointer = -1

// Value is the result of a path of members that starts at a variable: the content of a
// register, or of memory reached through pointers.
type Value struct {
	Name string // of the last member, with the indexes of elements
	Type string // in source form
	Kind Kind
	Size int

	// Register is the DWARF number of the register where the path starts. Without Offsets, the
	// value is in the register. Otherwise the address of the value is the register's content
	// plus Offsets[0]. Each further offset is added to the pointer read at the address before.
	Register int
	Offsets  []int64
	// Constant is true if the value is a compile-time constant: Number.
	Constant bool
	Number   int64

	// Bits is the width of a bit field, else 0. The field starts Bit bits after the address,
	// within Size bytes.
	Bit, Bits int
	// Count is the number of elements of an array of numbers. Kind and Size are the element's.
	// Text is true if the memory is a char array, not a pointer to text.
	Count int
	Text  bool
}

// PathError describes an error in a path.
type PathError struct {
	Pos     int // byte offset in the path
	Message string
}

func (e *PathError) Error() string { return e.Message }

func wrong(pos int, format string, args ...any) error {
	return &PathError{pos, fmt.Sprintf(format, args...)}
}

// Evaluate finds the value of a path just before the instruction at vaddr runs. A path starts
// at a visible variable, followed by members (r->id, s.pos.x), elements ([2]) and dereferences
// (*). C++ references are followed.
//
// At the first instruction of a function, parameters are where Read finds them. Elsewhere, and
// for other variables, debug information says where they are at that instruction.
//
// The error is a *PathError, or wraps ErrNoFunction.
func Evaluate(x *dwarfline.Index, vaddr uint64, path string, frame Frame, opts Options) (Value, error) {
	parser := cexpr.Parser{Operand: "a variable's name"}
	expr, err := parser.Parse(path)
	if syntax := (*cexpr.Error)(nil); errors.As(err, &syntax) {
		return Value{}, wrong(syntax.Pos, "%v", syntax)
	}
	inner, outer, ok, err := x.Scope(vaddr)
	if err != nil {
		return Value{}, fmt.Errorf("variables: %w", err)
	}
	if !ok {
		return Value{}, fmt.Errorf("variables: %w", ErrNoFunction)
	}
	e := &evaluator{scope: scope{vaddr: vaddr, frame: frame, r: newReader(outer, vaddr, opts), outer: outer}, inner: inner}
	if entry, ok := outer.Entry(); ok && entry == vaddr {
		e.atEntry = true
	}
	p, err := e.eval(expr)
	if err != nil {
		return Value{}, err
	}
	return e.finish(p)
}

// evaluator evaluates one path.
type evaluator struct {
	scope
	inner   dwarfline.DIE
	atEntry bool
}

// point is the result of a part of a path.
type point struct {
	at  Value // location and name
	typ dwarfline.DIE
	pos int
}

func (e *evaluator) eval(x cexpr.Expr) (point, error) {
	switch x := x.(type) {
	case *cexpr.Name:
		return e.variable(x)
	case *cexpr.Member:
		p, err := e.eval(x.X)
		if err != nil {
			return p, err
		}
		return e.member(p, x)
	case *cexpr.Operation:
		switch {
		case x.Op == "[]":
			p, err := e.eval(x.Args[0])
			if err != nil {
				return p, err
			}
			return e.element(p, x)
		case x.Op == "*" && len(x.Args) == 1:
			p, err := e.eval(x.Args[0])
			if err != nil {
				return p, err
			}
			return e.follow(p, x.Pos())
		}
	}
	return point{}, wrong(x.Pos(), "members (-> and .), elements ([1]) and * are all that a path may have")
}

// variable evaluates the variable at the start of a path.
func (e *evaluator) variable(x *cexpr.Name) (point, error) {
	v, err := e.parameter(x.Text)
	if v.name == "" && err == nil {
		v, err = e.lookup(e.inner, x.Text)
	}
	var unknown *UnknownError
	switch {
	case errors.As(err, &unknown):
		return point{}, wrong(x.Pos(), "no variable %s is visible here%s", x.Text, near(x.Text, unknown.Known))
	case err != nil:
		return point{}, err
	case v.why != "":
		return point{}, wrong(x.Pos(), "%s can't be fetched: %s", x.Text, v.why)
	}
	v.at.Name = x.Text
	return point{at: v.at, typ: v.typ, pos: x.Pos()}, nil
}

// parameter finds a parameter at the function's first instruction. Elsewhere it finds none.
func (e *evaluator) parameter(name string) (variable, error) {
	if !e.atEntry {
		return variable{}, nil
	}
	formals := e.r.formals()
	placed := e.r.placeAll(e.r.conventionOf(), formals)
	for i := range formals {
		f := &formals[i]
		if nameOf(f.declared) != name && nameOf(f.concrete) != name {
			continue
		}
		typ := typeOf(f.declared)
		if typ.Tag == 0 {
			typ = typeOf(f.concrete)
		}
		v := variable{name: name, typ: typ}
		v.at, v.why = e.atCall(placed[i].whole(f.typ))
		return v, nil
	}
	return variable{}, nil
}

// atCall converts a location at a function's first instruction to a Value.
func (e *evaluator) atCall(l Location) (v Value, why string) {
	switch l.Where {
	case Register:
		return Value{Register: l.Register, Bit: l.Bit}, ""
	case Memory:
		return Value{Register: l.Register, Offsets: []int64{l.Offset}}, ""
	case Stack:
		m := e.r.architecture()
		if m == nil {
			return Value{}, whyNoRules
		}
		return Value{Register: int(m.SP.DWARF), Offsets: []int64{l.Offset + int64(m.CallPushes)}}, ""
	}
	return Value{}, l.Why
}

// plain strips typedefs and qualifiers from a type.
func plain(t dwarfline.DIE) dwarfline.DIE {
	for range maxTypeDepth {
		t = complete(t)
		under, ok := t.Ref(dwarf.AttrType)
		if !ok || !isAlias(t.Tag) {
			break
		}
		t = under
	}
	return t
}

func isReference(t dwarfline.DIE) bool {
	return t.Tag == dwarf.TagReferenceType || t.Tag == dwarf.TagRvalueReferenceType
}

func isStruct(t dwarfline.DIE) bool {
	return t.Tag == dwarf.TagStructType || t.Tag == dwarf.TagClassType || t.Tag == dwarf.TagUnionType
}

// follow dereferences a pointer or a reference, or goes to the first element of an array.
func (e *evaluator) follow(p point, pos int) (point, error) {
	t := plain(p.typ)
	to, ok := t.Ref(dwarf.AttrType)
	switch {
	case t.Tag == dwarf.TagArrayType && ok:
		p.typ = to
		return p, nil
	case t.Tag != dwarf.TagPointerType && !isReference(t):
		return p, wrong(pos, "%s is no pointer, but %s", p.at.Name, e.r.text(p.typ))
	case !ok:
		return p, wrong(pos, "%s points to anything (void): nothing is known of it", p.at.Name)
	case p.at.Constant || p.at.Bit > 0:
		return p, wrong(pos, "%s is not where the kernel could follow it", p.at.Name)
	}
	p.at.Offsets = append(p.at.Offsets[:len(p.at.Offsets):len(p.at.Offsets)], 0)
	p.typ = to
	return p, nil
}

// moved returns the point that is bytes further on.
func (p point) moved(bytes int64) point {
	offsets := append([]int64(nil), p.at.Offsets...)
	if len(offsets) > 0 {
		offsets[len(offsets)-1] += bytes
	} else {
		p.at.Bit += int(bytes) * 8
	}
	p.at.Offsets = offsets
	return p
}

func (e *evaluator) member(p point, x *cexpr.Member) (point, error) {
	t := plain(p.typ)
	pointer := t.Tag == dwarf.TagPointerType
	if isReference(t) {
		var err error
		if p, err = e.follow(p, x.Pos()); err != nil {
			return p, err
		}
		t = plain(p.typ)
		pointer = t.Tag == dwarf.TagPointerType
	}
	switch {
	case pointer && x.Op == "." && e.r.lang.isC():
		return p, wrong(x.Pos(), "%s is a pointer: %s->%s", p.at.Name, p.at.Name, x.Name.Text)
	case pointer:
		var err error
		if p, err = e.follow(p, x.Pos()); err != nil {
			return p, err
		}
		t = plain(p.typ)
	case x.Op == "->":
		return p, wrong(x.Pos(), "%s is no pointer, but %s", p.at.Name, e.r.text(p.typ))
	}
	if !isStruct(t) {
		return p, wrong(x.Pos(), "%s is %s, which has no members", p.at.Name, e.r.text(p.typ))
	}
	if declared, _ := t.Uint(dwarf.AttrDeclaration); declared != 0 {
		return p, wrong(x.Pos(), "%s is declared only: the file does not say what its members are", e.r.text(p.typ))
	}
	var known []string
	found, bit, ok := findMember(t, x.Name.Text, &known, 0)
	if !ok {
		return p, wrong(x.Name.Pos(), "%s has no member %s%s", e.r.text(p.typ), x.Name.Text, near(x.Name.Text, known))
	}
	if p.at.Constant {
		return p, wrong(x.Pos(), "%s is a constant", p.at.Name)
	}
	p = p.moved(int64(bit / 8))
	p.at.Bit += int(bit % 8)
	if width, isField := found.Uint(dwarf.AttrBitSize); isField {
		p.at.Bits = int(min(width, 64))
	}
	p.at.Name, p.pos = x.Name.Text, x.Name.Pos()
	p.typ, _ = found.Ref(dwarf.AttrType)
	return p, nil
}

// findMember finds a member, also in base classes and unnamed structs, and its offset in bits.
func findMember(t dwarfline.DIE, name string, known *[]string, depth int) (found dwarfline.DIE, bit uint64, ok bool) {
	if depth > maxTypeDepth {
		return found, 0, false
	}
	eachMember(t, func(m dwarfline.DIE, bitOffset uint64) bool {
		called := m.Text(dwarf.AttrName)
		switch {
		case m.Tag == dwarf.TagMember && called == name:
			found, bit, ok = m, bitOffset, true
		case called != "":
			if len(*known) < maxFields {
				*known = append(*known, called)
			}
		default:
			inner, has := m.Ref(dwarf.AttrType)
			if !has {
				return true
			}
			if found, bit, ok = findMember(plain(inner), name, known, depth+1); ok {
				bit += bitOffset
			}
		}
		return !ok
	})
	return found, bit, ok
}

// eachMember calls visit with each member and base class at a fixed offset until visit returns
// false.
func eachMember(t dwarfline.DIE, visit func(m dwarfline.DIE, bit uint64) bool) {
	t.Children(func(m dwarfline.DIE) bool {
		if m.Tag != dwarf.TagMember && m.Tag != dwarf.TagInheritance {
			return true
		}
		bit, fixed := memberBit(m)
		return !fixed || visit(m, bit)
	})
}

// memberBit returns a member's offset in bits, or false if only the code of its class can
// compute it.
func memberBit(m dwarfline.DIE) (bit uint64, ok bool) {
	if bit, ok := m.Uint(dwarf.AttrDataBitOffset); ok {
		return bit, bit < 1<<35
	}
	at, has := m.Uint(dwarf.AttrDataMemberLoc)
	if expr, isExpr := m.Expr(dwarf.AttrDataMemberLoc); isExpr {
		c := bytecursor.New(expr, 0, binary.LittleEndian)
		if c.U8() != opPlusUconst {
			return 0, false
		}
		at, has = c.ULEB(), true
		if c.Err() != nil || c.Left() > 0 {
			return 0, false
		}
	}
	if _, static := m.Uint(dwarf.AttrExternal); static && !has || at > 1<<32 {
		return 0, false
	}
	bit = 8 * at
	if fromTop, ok := m.Uint(dwarf.AttrBitOffset); ok { // DWARF 3: counted from the most significant bit
		size, has := m.Uint(dwarf.AttrByteSize)
		width, _ := m.Uint(dwarf.AttrBitSize)
		if !has {
			t, _ := m.Ref(dwarf.AttrType)
			size, _ = plain(t).Uint(dwarf.AttrByteSize)
		}
		if size > 8 || fromTop+width > 8*size {
			return 0, false
		}
		bit += 8*size - fromTop - width
	}
	return bit, true
}

func (e *evaluator) element(p point, x *cexpr.Operation) (point, error) {
	number, ok := x.Args[1].(*cexpr.Number)
	if !ok || number.Value >= 1<<31 {
		return p, wrong(x.Args[1].Pos(), "an element is given by its number: [0], [1] …")
	}
	t := plain(p.typ)
	if isReference(t) {
		var err error
		if p, err = e.follow(p, x.Pos()); err != nil {
			return p, err
		}
		t = plain(p.typ)
	}
	if t.Tag == dwarf.TagArrayType {
		lengths := bounds(t)
		if len(lengths) > 1 {
			return p, wrong(x.Pos(), "%s has several dimensions, and one can't be named alone", p.at.Name)
		}
		if len(lengths) == 1 && lengths[0] > 0 && number.Value >= lengths[0] {
			return p, wrong(x.Args[1].Pos(), "%s has %d elements, [0] to [%d]", p.at.Name, lengths[0], lengths[0]-1)
		}
	}
	p, err := e.follow(p, x.Pos())
	if err != nil {
		return p, err
	}
	size := e.r.resolve(p.typ, 0).size
	if size == 0 && number.Value > 0 {
		return p, wrong(x.Pos(), "%s has no size by which elements could be counted", e.r.text(p.typ))
	}
	p = p.moved(int64(number.Value * min(size, 1<<24)))
	p.at.Name += "_" + strconv.FormatUint(number.Value, 10)
	return p, nil
}

// finish sets the kind, the size and the type of the value at the end of a path.
func (e *evaluator) finish(p point) (Value, error) {
	v := p.at
	if p.typ.Tag == 0 {
		return v, wrong(p.pos, "%s is of no type", v.Name)
	}
	t := plain(p.typ)
	v.Type = e.r.text(p.typ)
	known := e.r.resolve(p.typ, 0)
	v.Kind, v.Size = known.kind, int(min(known.size, 1<<30))
	if isStruct(t) && v.Kind != Text {
		var members []string
		findMember(t, "", &members, 0)
		const few = 8
		if len(members) > few {
			members = append(members[:few:few], "…")
		}
		return v, wrong(p.pos, "%s is %s: name a member of it, of %s", v.Name, v.Type, strings.Join(members, ", "))
	}
	if t.Tag == dwarf.TagArrayType {
		elem, _ := t.Ref(dwarf.AttrType)
		of := e.r.resolve(elem, 0)
		count := known.count
		v.Kind, v.Size, v.Count = of.kind, int(min(of.size, 1<<30)), int(min(count, 1<<30))
		if v.Text = of.kind == Char; v.Text && len(v.Offsets) == 0 {
			return v, wrong(p.pos, "%s is in a register", v.Name)
		}
	}
	if v.Bits > 0 && len(v.Offsets) > 0 {
		v = v.contained()
	}
	return v, nil
}

// contained moves the start of a bit field so that the field is within one word of its type's
// size. The word is aligned to its size if the field fits.
func (v Value) contained() Value {
	size := max(v.Size, 1)
	last := len(v.Offsets) - 1
	offsets := append([]int64(nil), v.Offsets...)
	back := offsets[last] & int64(size-1)
	if offsets[last] >= 0 && v.Bit+int(back)*8+v.Bits <= 8*size {
		offsets[last] -= back
		v.Bit += int(back) * 8
	} else if v.Bit+v.Bits > 8*size {
		size = 8
	}
	v.Offsets, v.Size = offsets, size
	return v
}

// near returns the end of an error message: known names that resemble name or, if there are
// none, a few of all known names.
func near(name string, known []string) string {
	const most = 3
	n := match.NewNearest(name, 1+len(name)/4, most, match.ShortestFirst)
	for _, k := range known {
		n.Add(k)
	}
	if found := n.Names(); len(found) > 0 {
		return "; " + match.DidYouMean(found)
	}
	const few = 8
	switch {
	case len(known) == 0:
		return ""
	case len(known) > few:
		known = append(known[:few:few], "…")
	}
	return "; there are " + strings.Join(known, ", ")
}
