package printfmt

import (
	"strconv"

	"github.com/ringtap/ringtap/internal/text/cexpr"
)

// hexNode prints bytes in hexadecimal (trace_print_hex_seq).
type hexNode struct {
	memory, length node
	separator      byte
}

func (*hexNode) eval([]byte) value { return value{} }

func (n *hexNode) appendText(dst, raw []byte) []byte {
	m, length := n.memory.eval(raw), n.length.eval(raw)
	if m.kind != memory || length.kind != number {
		return append(dst, unknownText...)
	}
	b := m.memory
	if length.number < uint64(len(b)) {
		b = b[:length.number]
	} else if int32(length.number) < 0 {
		b = nil
	}
	return appendHex(dst, b, n.separator)
}

// arrayNode prints {0x1,0x2} (trace_print_array_seq).
type arrayNode struct{ memory, count, size node }

func (*arrayNode) eval([]byte) value { return value{} }

func (n *arrayNode) appendText(dst, raw []byte) []byte {
	m, count, size := n.memory.eval(raw), n.count.eval(raw), n.size.eval(raw)
	if m.kind != memory || count.kind != number || size.kind != number {
		return append(dst, unknownText...)
	}
	dst = append(dst, '{')
	for i := uint64(0); i < count.number; i++ {
		at := i * size.number
		if at >= uint64(len(m.memory)) {
			break
		}
		v, ok := cexpr.Load(m.memory[at:], int(size.number))
		if !ok {
			break
		}
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = strconv.AppendUint(append(dst, "0x"...), v, 16)
	}
	return append(dst, '}')
}

// bitmaskNode prints a bit mask in hexadecimal, in groups of 32 bits (trace_print_bitmask_seq).
type bitmaskNode struct{ data *fieldNode }

func (*bitmaskNode) eval([]byte) value { return value{} }

func (n *bitmaskNode) appendText(dst, raw []byte) []byte {
	v := n.data.eval(raw)
	if v.kind != memory {
		return append(dst, unknownText...)
	}
	return appendBitmap(dst, v.memory, 8*len(v.memory))
}

// appendBitmap prints the lowest bits of a mask like %*pb: groups of 32 bits, the highest
// first. The first group has only as many digits as its bits need.
func appendBitmap(dst, mask []byte, bits int) []byte {
	bits = min(bits, 8*len(mask))
	for at := (bits+31)/32*32 - 32; at >= 0; at -= 32 {
		count := min(32, bits-at)
		v := uint64(0)
		for i := 0; i < 4 && at/8+i < len(mask); i++ {
			v |= uint64(mask[at/8+i]) << (8 * i)
		}
		v &= 1<<uint(count) - 1
		if at/32 != (bits-1)/32 {
			dst = append(dst, ',')
		}
		for digit := (count+3)/4 - 1; digit >= 0; digit-- {
			dst = append(dst, hexDigits[v>>(4*uint(digit))&15])
		}
	}
	return dst
}

// appendBitList prints the lowest bits of a mask like %*pbl: 0-3,7.
func appendBitList(dst, mask []byte, bits int) []byte {
	bits = min(bits, 8*len(mask))
	set := func(i int) bool { return i < bits && mask[i/8]>>(i%8)&1 != 0 }
	first := true
	for i := 0; i < bits; i++ {
		if !set(i) {
			continue
		}
		start := i
		for set(i + 1) {
			i++
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = strconv.AppendInt(dst, int64(start), 10)
		if i > start {
			dst = strconv.AppendInt(append(dst, '-'), int64(i), 10)
		}
	}
	return dst
}
