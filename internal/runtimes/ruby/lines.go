package ruby

import (
	"encoding/binary"
	"math/bits"
)

// line returns the line of the instruction before pc, or 0 if it has none.
func (r *ruby) line(body *[bodySize]byte, pc uint64) int {
	at := (pc - word(body, bodyCode)) / 8
	if at > uint64(binary.LittleEndian.Uint32(body[bodyLength:])) {
		return 0
	}
	if at > 0 {
		at--
	}
	entry, ok := r.entry(body, at)
	if !ok {
		return 0
	}
	var b [4]byte
	if !r.memory.Read(word(body, r.bodyLines)+entry*r.lineSize+r.lineAt, b[:]) {
		return 0
	}
	return max(int(int32(binary.LittleEndian.Uint32(b[:]))), 0)
}

// entry returns the index of the entry with the line of the instruction at pos.
func (r *ruby) entry(body *[bodySize]byte, pos uint64) (entry uint64, ok bool) {
	count := uint64(binary.LittleEndian.Uint32(body[r.bodyCount:]))
	if count <= 1 {
		return 0, count == 1
	}
	if r.bodyIndex == 0 {
		return r.search(word(body, r.bodyLines), count, pos)
	}
	rank, ok := r.rank(word(body, r.bodyIndex), pos)
	return rank - 1, ok && rank > 0 && rank <= count
}

// search returns the last entry that does not begin after pos. Each entry starts with an
// instruction's number.
func (r *ruby) search(entries, count, pos uint64) (entry uint64, ok bool) {
	var b [4]byte
	low, high := uint64(0), count
	for high-low > 1 {
		middle := (low + high) / 2
		if !r.memory.Read(entries+middle*r.lineSize, b[:]) {
			return 0, false
		}
		if uint64(binary.LittleEndian.Uint32(b[:])) <= pos {
			low = middle
		} else {
			high = middle
		}
	}
	return low, true
}

// A succ_index_table (iseq.c). For each of the first 54 instructions it has the number of
// entries up to there: nine numbers of seven bits in a word. Then come blocks of 512 bits, one
// bit per instruction, set if an entry begins there. A block also has the number of entries
// before it and, in nine bits each, before each of its words but the first.
const (
	direct      = 54
	directWords = direct / 9
	blockBits   = 512
	blockRanks  = 8
	blockWords  = 16
	blockSize   = 80
)

func (r *ruby) rank(table, pos uint64) (uint64, bool) {
	var b [blockSize]byte
	if pos < direct {
		word, ok := r.word(table+pos/9*8, b[:])
		return word >> (pos % 9 * 7) & 0x7f, ok
	}
	pos -= direct
	if !r.memory.Read(table+directWords*8+pos/blockBits*blockSize, b[:]) {
		return 0, false
	}
	pos %= blockBits
	rank := uint64(binary.LittleEndian.Uint32(b[:]))
	if pos >= 64 {
		rank += binary.LittleEndian.Uint64(b[blockRanks:]) >> ((pos/64 - 1) * 9) & 0x1ff
	}
	word := binary.LittleEndian.Uint64(b[blockWords+pos/64*8:])
	return rank + uint64(bits.OnesCount64(word<<(63-pos%64))), true
}
