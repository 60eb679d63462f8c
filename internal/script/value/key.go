package value

import (
	"encoding/binary"

	"github.com/ringtap/ringtap/internal/script/types"
)

// A Key is a key of a map in the form that maps compare: one integer, or the encoded bytes of
// everything else. The zero Key is the key of a map without keys. A Key from an Encoder is valid
// until the Encoder is used again.
type Key struct {
	n uint64
	b []byte // nil for one integer
}

// IntKey returns the key that is one integer. Everything whose type counts as one number (see
// Single) must use it.
func IntKey(n uint64) Key { return Key{n: n} }

// Single tells whether a key of these types is one integer and so an IntKey.
func Single(keys []*types.Type) bool { return len(keys) == 0 || len(keys) == 1 && numeric(keys[0]) }

// numeric tells whether the values of a type are numbers only.
func numeric(t *types.Type) bool {
	switch t.Kind {
	case types.Int, types.Bool, types.Pointer, types.KStack, types.UStack, types.KSym, types.USym,
		types.Username, types.CgroupPath:
		return true
	}
	return t.Kind.Aggregates()
}

// An Encoder makes keys. It keeps its buffer, so keys after the first few cost no allocation.
// Each place of a program that makes keys should have its own.
type Encoder struct{ b []byte }

// Key encodes the parts of a key, one for each of types.
func (e *Encoder) Key(keys []*types.Type, parts []Value) Key {
	if Single(keys) {
		if len(keys) == 0 {
			return Key{}
		}
		return Key{n: parts[0].N}
	}
	e.Reset()
	for i, t := range keys {
		e.Add(t, parts[i])
	}
	return e.Done()
}

// Reset starts a new key, for those who add its parts one by one.
func (e *Encoder) Reset() {
	if e.b == nil {
		e.b = make([]byte, 0, 64)
	}
	e.b = e.b[:0]
}

// Done returns the key that was added up since Reset. It is for keys that are not Single.
func (e *Encoder) Done() Key { return Key{b: e.b} }

// Int adds a part that is a number.
func (e *Encoder) Int(n uint64) { e.b = binary.NativeEndian.AppendUint64(e.b, n) }

// String adds a part that is bytes: a string, a buffer, a struct.
func (e *Encoder) String(s string) {
	e.b = binary.AppendUvarint(e.b, uint64(len(s)))
	e.b = append(e.b, s...)
}

// Bytes adds a part that is bytes, which need not be made a string first.
func (e *Encoder) Bytes(s []byte) {
	e.b = binary.AppendUvarint(e.b, uint64(len(s)))
	e.b = append(e.b, s...)
}

// Add adds a part of any type.
func (e *Encoder) Add(t *types.Type, v Value) {
	switch {
	case numeric(t):
		e.Int(v.N)
	case t.Kind == types.Tuple || t.Kind == types.Record:
		for i, f := range t.Fields {
			e.Add(f.Type, v.T[i])
		}
	case t.Kind == types.Timestamp:
		e.Int(v.N)
		e.String(v.S)
	default:
		e.String(v.S)
	}
}

// decode returns the parts of an encoded key.
func decode(keys []*types.Type, b string) []Value {
	parts := make([]Value, len(keys))
	for i, t := range keys {
		parts[i], b = decodePart(t, b)
	}
	return parts
}

func decodePart(t *types.Type, b string) (Value, string) {
	switch {
	case numeric(t):
		n, rest := decodeInt(b)
		return Value{N: n}, rest
	case t.Kind == types.Tuple || t.Kind == types.Record:
		elems := make([]Value, len(t.Fields))
		for i, f := range t.Fields {
			elems[i], b = decodePart(f.Type, b)
		}
		return Value{T: elems}, b
	case t.Kind == types.Timestamp:
		n, rest := decodeInt(b)
		s, rest := decodeString(rest)
		return Value{N: n, S: s}, rest
	}
	s, rest := decodeString(b)
	return Value{S: s}, rest
}

func decodeInt(b string) (uint64, string) {
	return binary.NativeEndian.Uint64([]byte(b[:8])), b[8:]
}

func decodeString(b string) (s, rest string) {
	var size uint64
	for shift := 0; ; shift += 7 {
		c := b[0]
		b = b[1:]
		size |= uint64(c&0x7f) << shift
		if c < 0x80 {
			return b[:size], b[size:]
		}
	}
}
