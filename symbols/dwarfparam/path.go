package dwarfparam

import (
	"debug/dwarf"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"

	"github.com/ringtap/ringtap/internal/cexpr"
	"github.com/ringtap/ringtap/internal/names"
	"github.com/ringtap/ringtap/symbols/dwarfline"
)

// InstructionPointer is the Register of a Value that is at a fixed distance from the
// instruction.
const InstructionPointer = -1

// Value is what the path of members from a variable leads to: the content of a register,
// or memory to which pointers lead.
type Value struct {
	Name string // of the last member, with the numbers of elements
	Type string // as the source writes it
	Kind Kind
	Size int

	// Register is the one, of DWARF's numbering, that the path begins at. Without Offsets it
	// has the value. With one, the value is in memory that many bytes from the register's
	// content; each further one counts from the content of the memory before.
	Register int
	Offsets  []int64
	// Constant says that the compiler knows the value, which is Number.
	Constant bool
	Number   int64

	// Bits is the width of a bitfield, 0 if it is none; it begins Bit bits behind the
	// place, within Size bytes.
	Bit, Bits int
	// Count is the number of elements of an array of numbers; Kind and Size are those
	// of one. Text says that the place has text, of an array, and not a pointer to it.
	Count int
	Text  bool
}

// PathError says where a path is wrong.
type PathError struct {
	Pos     int // byte of the path
	Message string
}

func (e *PathError) Error() string { return e.Message }

func wrong(pos int, format string, args ...any) error {
	return &PathError{pos, fmt.Sprintf(format, args...)}
}

// Evaluate works out what a path leads to when the instruction at vaddr is about to run. A
// path is a variable that is visible there and members (r->id, s.pos.x), elements ([2]) and
// * of it. C++ references are followed.
//
// At the first instruction of a function its parameters are where Read finds them;
// elsewhere variables are where debug information says that they are at that instruction.
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

// point is a part of a path.
type point struct {
	at  Value // place and name
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

// variable is where a path begins.
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

// parameter finds a parameter at the function's first instruction; none elsewhere.
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

// atCall is a location at a function's first instruction.
func (e *evaluator) atCall(l Location) (v Value, why string) {
	switch l.Where {
	case Register:
		return Value{Register: l.Register, Bit: l.Bit}, ""
	case Memory:
		return Value{Register: l.Register, Offsets: []int64{l.Offset}}, ""
	case Stack:
		return Value{Register: int(e.r.stackPointer()), Offsets: []int64{l.Offset + e.r.returnAddress()}}, ""
	}
	return Value{}, l.Why
}

// plain is a type without the names and qualifiers that it is given.
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

// follow is what a pointer, a reference or an array leads to.
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

// moved is a place so many bytes further.
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

// attrDataBitOffset is DW_AT_data_bit_offset.
const attrDataBitOffset dwarf.Attr = 0x6b

// findMember finds a member, in base classes and unnamed structs too, and how many bits
// it is behind the beginning.
func findMember(t dwarfline.DIE, name string, known *[]string, depth int) (found dwarfline.DIE, bit uint64, ok bool) {
	if depth > maxTypeDepth {
		return found, 0, false
	}
	t.Children(func(m dwarfline.DIE) bool {
		if m.Tag != dwarf.TagMember && m.Tag != dwarf.TagInheritance {
			return true
		}
		at, fixed := memberBit(m)
		if !fixed {
			return true
		}
		called := m.Text(dwarf.AttrName)
		switch {
		case m.Tag == dwarf.TagMember && called == name:
			found, bit, ok = m, at, true
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
				bit += at
			}
		}
		return !ok
	})
	return found, bit, ok
}

// memberBit is where a member begins in its struct; false if only its class's code knows.
func memberBit(m dwarfline.DIE) (bit uint64, ok bool) {
	if bit, ok := m.Uint(attrDataBitOffset); ok {
		return bit, bit < 1<<35
	}
	at, has := m.Uint(dwarf.AttrDataMemberLoc)
	if expr, isExpr := m.Expr(dwarf.AttrDataMemberLoc); isExpr {
		c := cursor{b: expr}
		if c.u8() != opPlusUconst {
			return 0, false
		}
		at, has = c.uleb(), true
		if !c.ok() || len(c.b) > 0 {
			return 0, false
		}
	}
	if _, static := m.Uint(dwarf.AttrExternal); static && !has || at > 1<<32 {
		return 0, false
	}
	bit = 8 * at
	if fromTop, ok := m.Uint(dwarf.AttrBitOffset); ok { // of DWARF 3: from the upper end
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

// finish tells what kind of value a path has led to.
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
		return v, wrong(p.pos, "%s is %s: name a member of it, of %s", v.Name, v.Type, join(members))
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

// contained has a bitfield begin within a word of its type's size, at a multiple of that
// size as far as the field allows it.
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

// near returns the end of an error message: the known names that resemble name, or, if none
// does, a few of all known names.
func near(name string, known []string) string {
	const most = 3
	n := names.NewNearest(name, 1+len(name)/4, most, names.ShortestFirst)
	for _, k := range known {
		n.Add(k)
	}
	if found := n.Names(); len(found) > 0 {
		return "; " + names.DidYouMean(found)
	}
	const few = 8
	switch {
	case len(known) == 0:
		return ""
	case len(known) > few:
		known = append(known[:few:few], "…")
	}
	return "; there are " + join(known)
}

func join(list []string) string {
	out := ""
	for i, s := range list {
		if i > 0 {
			out += ", "
		}
		out += s
	}
	return out
}

func binaryUint64(b []byte) uint64 { return binary.LittleEndian.Uint64(b) }
