package check

import (
	"github.com/ringtap/ringtap/internal/bpftrace/types"
)

// The types of nonnegative literals. Such a literal takes the signedness of the other operand.
var (
	flexible8  = &types.Type{Kind: types.Int, Size: 1, Signed: true}
	flexible16 = &types.Type{Kind: types.Int, Size: 2, Signed: true}
	flexible32 = &types.Type{Kind: types.Int, Size: 4, Signed: true}
	flexible64 = &types.Type{Kind: types.Int, Size: 8, Signed: true}
)

// pending is the type of an expression until some assignment determines it.
var pending = &types.Type{Kind: types.None}

// wrong is the type of a wrong expression. It causes no further errors.
var wrong = &types.Type{Kind: types.None}

func known(t *types.Type) bool { return t != pending && t != wrong }

func flexible(t *types.Type) bool {
	return t == flexible8 || t == flexible16 || t == flexible32 || t == flexible64
}

func flexibleOf(size int) *types.Type {
	switch size {
	case 1:
		return flexible8
	case 2:
		return flexible16
	case 4:
		return flexible32
	}
	return flexible64
}

// literalType returns the smallest type that holds a literal with the magnitude n.
func (c *checker) literalType(n uint64, negative bool) *types.Type {
	if c.opts.Dialect == V017 {
		if !negative && n > 1<<63-1 {
			return types.Uint64
		}
		return types.Int64
	}
	size := 8
	limit := n
	if negative && limit > 0 {
		limit--
	}
	switch {
	case limit <= 1<<7-1:
		size = 1
	case limit <= 1<<15-1:
		size = 2
	case limit <= 1<<31-1:
		size = 4
	case limit > 1<<63-1:
		return types.Uint64
	}
	if negative {
		return types.Integer(size, true)
	}
	return flexibleOf(size)
}

// settle returns the final type of a variable, key or tuple of type t.
func settle(t *types.Type) *types.Type {
	switch {
	case flexible(t):
		return types.Integer(t.Size, true)
	case t.Kind == types.Tuple || t.Kind == types.Record:
		fields := make([]types.Field, len(t.Fields))
		same := true
		for i, f := range t.Fields {
			fields[i] = f
			fields[i].Type = settle(f.Type)
			same = same && fields[i].Type == f.Type
		}
		if same {
			return t
		}
		return &types.Type{Kind: t.Kind, Fields: fields}
	}
	return t
}

// equal reports whether two types are the same. A literal's flexible integer type equals the plain
// one.
func equal(a, b *types.Type) bool {
	if a == b {
		return true
	}
	if a == nil || b == nil || a.Kind != b.Kind || a == pending || b == pending || a == wrong || b == wrong {
		return false
	}
	switch a.Kind {
	case types.Int:
		return a.Size == b.Size && a.Signed == b.Signed
	case types.String, types.Buffer:
		return a.Size == b.Size
	case types.Pointer:
		return equal(a.Elem, b.Elem)
	case types.Array:
		return a.Len == b.Len && equal(a.Elem, b.Elem)
	case types.Struct:
		return a.Name == b.Name && (a.Name != "" || len(a.Fields) == len(b.Fields))
	case types.Tuple, types.Record:
		if len(a.Fields) != len(b.Fields) {
			return false
		}
		for i := range a.Fields {
			if a.Fields[i].Name != b.Fields[i].Name || !equal(a.Fields[i].Type, b.Fields[i].Type) {
				return false
			}
		}
		return true
	case types.KStack, types.UStack:
		return a.Mode == b.Mode && a.Limit == b.Limit
	}
	return a.Signed == b.Signed
}

// castable reports whether t is an aggregation that can be used as an integer.
func castable(t *types.Type) bool {
	switch t.Kind {
	case types.Count, types.Sum, types.Min, types.Max, types.Avg:
		return true
	}
	return false
}

// promote returns the type that holds values of both types, or nil if there is none.
func promote(a, b *types.Type) *types.Type {
	switch {
	case a == pending:
		if castable(b) {
			return types.Integer(8, b.Signed)
		}
		return b
	case b == pending || a == b:
		return a
	case a == wrong || b == wrong:
		return wrong
	}
	if integral(a) && integral(b) {
		return promoteInts(a, b)
	}
	if a.Kind != b.Kind {
		return nil
	}
	switch a.Kind {
	case types.Tuple, types.Record:
		return promoteFields(a, b)
	case types.String, types.Buffer:
		if b.Size > a.Size {
			return b
		}
		return a
	case types.Pointer:
		if a.Elem == nil || a.Elem.Kind == types.None {
			return b
		}
		if b.Elem == nil || b.Elem.Kind == types.None || equal(a.Elem, b.Elem) {
			return a
		}
		if t := promote(a.Elem, b.Elem); t != nil && a.Elem.Kind == types.Int {
			p := *a
			p.Elem = t
			return &p
		}
		return nil
	case types.Bool:
		return a
	}
	if equal(a, b) {
		return a
	}
	if a.Kind.Aggregates() && a.Kind == b.Kind {
		if a.Signed {
			return a
		}
		return b
	}
	return nil
}

// integral reports whether t is an integer or an aggregation that can be used as one.
func integral(t *types.Type) bool { return t.Kind == types.Int || castable(t) }

func promoteInts(a, b *types.Type) *types.Type {
	if castable(a) && a.Kind == b.Kind {
		if a.Signed {
			return a
		}
		return b
	}
	aSize, bSize := intSize(a), intSize(b)
	size := max(aSize, bSize)
	if flexible(a) && flexible(b) {
		return flexibleOf(size)
	}
	if a.Signed == b.Signed {
		if a.Name != "" && a.Name == b.Name {
			return a
		}
		return types.Integer(size, a.Signed)
	}
	switch {
	case flexible(a):
		return types.Integer(size, b.Signed)
	case flexible(b):
		return types.Integer(size, a.Signed)
	case a.Signed && aSize > bSize, b.Signed && bSize > aSize:
		return types.Integer(size, true)
	}
	return types.Integer(min(size*2, 8), true)
}

func intSize(t *types.Type) int {
	if t.Kind == types.Int {
		return t.Size
	}
	return 8
}

func promoteFields(a, b *types.Type) *types.Type { // a record keeps the order of a
	if len(a.Fields) != len(b.Fields) {
		return nil
	}
	fields := make([]types.Field, len(a.Fields))
	for i, f := range a.Fields {
		j := Counterpart(b, i, f.Name)
		if j < 0 {
			return nil
		}
		t := promote(f.Type, b.Fields[j].Type)
		if t == nil {
			return nil
		}
		fields[i] = types.Field{Name: f.Name, Type: t}
	}
	t := &types.Type{Kind: a.Kind, Fields: fields}
	if equalDeep(t, a) {
		return a
	}
	return t
}

// equalDeep is equal, except that a literal's flexible integer type differs from the plain one.
func equalDeep(a, b *types.Type) bool {
	if a.Kind != b.Kind || len(a.Fields) != len(b.Fields) {
		return false
	}
	if len(a.Fields) == 0 || a.Kind == types.Struct {
		return equal(a, b) && flexible(a) == flexible(b)
	}
	for i := range a.Fields {
		if !equalDeep(a.Fields[i].Type, b.Fields[i].Type) {
			return false
		}
	}
	return true
}
