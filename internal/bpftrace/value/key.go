package value

import (
	"encoding/binary"

	"github.com/ringtap/ringtap/internal/bpftrace/types"
)

// A Key is a map key in the form that maps compare: one integer, or the encoded bytes of anything
// else. The zero Key is the key of a map without keys. A Key from an Encoder is valid until the
// Encoder is used again.
type Key struct {
	n uint64
	b []byte // nil for an integer
}

// IntKey returns an integer key. Every key whose types are Single must use it.
func IntKey(n uint64) Key { return Key{n: n} }

// Single reports whether keys of these types are one integer, which needs an IntKey.
func Single(keys []*types.Type) bool { return len(keys) == 0 || len(keys) == 1 && numeric(keys[0]) }

// numeric reports whether a value of type t is only a number.
func numeric(t *types.Type) bool {
	switch t.Kind {
	case types.Int, types.Bool, types.Pointer, types.KStack, types.UStack, types.KSym, types.USym,
		types.Username, types.CgroupPath:
		return true
	}
	return t.Kind.Aggregates()
}

// An Encoder makes keys. It reuses its buffer, so it rarely allocates. Each place in a program that
// makes keys should have its own Encoder.
type Encoder struct{ b []byte }

// Key encodes the parts of a key, one for each type in keys.
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

// Reset starts a new key. Its parts are then added one by one.
func (e *Encoder) Reset() {
	if e.b == nil {
		e.b = make([]byte, 0, 64)
	}
	e.b = e.b[:0]
}

// Done returns the key added since Reset. It is for keys that are not Single.
func (e *Encoder) Done() Key { return Key{b: e.b} }

// Int adds a numeric part.
func (e *Encoder) Int(n uint64) { e.b = binary.NativeEndian.AppendUint64(e.b, n) }

// String adds a part that consists of bytes: a string, a buffer, a struct.
func (e *Encoder) String(s string) {
	e.b = binary.AppendUvarint(e.b, uint64(len(s)))
	e.b = append(e.b, s...)
}

// Bytes is like String, without a conversion to string.
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
