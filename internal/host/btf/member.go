package btf

// Member is a member of a struct or union.
type Member struct {
	Name   string // "" for an anonymous struct or union
	Type   Type
	Bit    uint32 // offset in bits from the start of the struct
	Width  uint32 // width of a bitfield in bits; 0 for other members
	parent Type   // the struct or union that has it
}

// Member returns the ith of a struct's or union's Len members.
func (t Type) Member(i int) Member {
	if k := t.Kind(); k != Struct && k != Union || i < 0 || i >= t.Len() {
		return Member{}
	}
	offset := t.word(3 + 3*i + 2)
	m := Member{Name: t.spec.text(t.word(3 + 3*i)), Type: t.spec.Type(ID(t.word(3 + 3*i + 1))), Bit: offset, parent: t}
	if t.flag() {
		m.Bit, m.Width = offset&0xffffff, offset>>24
		return m
	}
	// Older data without the flag gives a bitfield an Int type of its own.
	if r := m.Type.Resolve(); r.Kind() == Int {
		first, width := r.intBits()
		if first != 0 || width != 8*r.word(2) {
			m.Bit, m.Width = offset+first, width
		}
	}
	return m
}

// maxMembersSeen bounds the search in anonymous members. They could be nested so that there are
// many more of them than bytes.
const maxMembersSeen = 1 << 14

// Field finds a member by name, like C: members of anonymous structs and unions are members of
// the enclosing type. Their Bit counts from the start of t, and their parent is the anonymous
// type.
func (t Type) Field(name string) (Member, bool) {
	budget := maxMembersSeen
	return t.field(name, 0, maxChain, &budget)
}

func (t Type) field(name string, bit uint32, depth int, budget *int) (Member, bool) {
	if k := t.Kind(); k != Struct && k != Union || name == "" || depth == 0 {
		return Member{}, false
	}
	for i := range t.Len() {
		if *budget--; *budget < 0 {
			return Member{}, false
		}
		nameAt := t.word(3 + 3*i)
		if t.spec.isText(nameAt, name) {
			m := t.Member(i)
			m.Bit += bit
			return m, true
		}
		if !t.spec.isText(nameAt, "") {
			continue
		}
		m := t.Member(i)
		if found, ok := m.Type.Resolve().field(name, bit+m.Bit, depth-1, budget); ok {
			return found, true
		}
	}
	return Member{}, false
}

// FieldNames returns at most max of the names that Field finds, in declaration order.
func (t Type) FieldNames(max int) []string {
	budget := maxMembersSeen
	return t.fieldNames(nil, max, maxChain, &budget)
}

func (t Type) fieldNames(names []string, max, depth int, budget *int) []string {
	if k := t.Kind(); k != Struct && k != Union || depth == 0 {
		return names
	}
	for i := range t.Len() {
		if *budget--; *budget < 0 || len(names) >= max {
			break
		}
		if m := t.Member(i); m.Name != "" {
			names = append(names, m.Name)
		} else {
			names = m.Type.Resolve().fieldNames(names, max, depth-1, budget)
		}
	}
	return names
}

// Param is a parameter of a function type.
type Param struct {
	Name string // "" if the declaration has none
	Type Type   // Void for the ... of a variadic function, which comes last
}

// Param returns the ith of a FuncProto's Len parameters.
func (t Type) Param(i int) Param {
	if t.Kind() != FuncProto || i < 0 || i >= t.Len() {
		return Param{}
	}
	return Param{t.spec.text(t.word(3 + 2*i)), t.spec.Type(ID(t.word(3 + 2*i + 1)))}
}

// Enumerator returns the ith of an enum's Len names and values. Values beyond the range of
// int64 wrap around.
func (t Type) Enumerator(i int) (name string, value int64) {
	switch k := t.Kind(); {
	case i < 0 || i >= t.Len():
	case k == Enum && t.flag():
		return t.spec.text(t.word(3 + 2*i)), int64(int32(t.word(3 + 2*i + 1)))
	case k == Enum:
		return t.spec.text(t.word(3 + 2*i)), int64(t.word(3 + 2*i + 1))
	case k == Enum64:
		return t.spec.text(t.word(3 + 3*i)), int64(uint64(t.word(3+3*i+2))<<32 | uint64(t.word(3+3*i+1)))
	}
	return "", 0
}
