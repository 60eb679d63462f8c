package value

import (
	"encoding/binary"
	"strings"

	"github.com/ringtap/ringtap/internal/bpftrace/types"
)

// Load returns the value of type t at the start of memory b. Missing bytes count as zero.
func Load(t *types.Type, b string) Value {
	switch t.Kind {
	case types.Array, types.Struct:
		return Value{S: upTo(b, t.Size)}
	case types.String:
		s := b
		if t.Size > 0 {
			s = upTo(b, t.Size)
		}
		if end := strings.IndexByte(s, 0); end >= 0 {
			s = s[:end]
		}
		return Value{S: s}
	case types.Buffer:
		return Value{S: upTo(b, t.Size)}
	case types.Bool:
		return Bool(number(b, 1) != 0)
	case types.Pointer:
		return Value{N: number(b, 8)}
	}
	n := number(b, t.Size)
	if t.Signed {
		n = extend(n, t.Size*8)
	}
	return Value{N: n}
}

// LoadField returns the value of a member of the struct with the bytes b.
func LoadField(f types.Field, b string) Value {
	b = b[min(f.Offset, len(b)):]
	if f.Bits == 0 {
		return Load(f.Type, b)
	}
	n := number(b, 8) >> f.BitOffset
	if f.BitOffset+f.Bits > 64 {
		n |= number(b[min(8, len(b)):], 1) << (64 - f.BitOffset)
	}
	if f.Bits < 64 {
		n &= 1<<f.Bits - 1
	}
	if f.Type.Signed {
		n = extend(n, f.Bits)
	}
	return Value{N: n}
}

func upTo(b string, n int) string { return b[:min(n, len(b))] }

// number returns the little-endian integer of up to 8 bytes at the start of b. Both architectures
// that ringtap supports are little-endian.
func number(b string, size int) uint64 {
	var raw [8]byte
	copy(raw[:min(max(size, 0), 8)], b)
	return binary.LittleEndian.Uint64(raw[:])
}

// extend sign-extends a number of this many bits.
func extend(n uint64, bits int) uint64 {
	if bits <= 0 || bits >= 64 {
		return n
	}
	shift := 64 - bits
	return uint64(int64(n<<shift) >> shift)
}
