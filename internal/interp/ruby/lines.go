package ruby

import (
	"encoding/binary"
	"math/bits"
)

// line is the line of the instruction before pc, 0 if it has none.
func (r *ruby) line(body *[bodySize]byte, pc uint64) int {
	word := func(at int) uint64 { return binary.LittleEndian.Uint64(body[at:]) }
	at := (pc - word(bodyCode)) / 8
	if at > uint64(binary.LittleEndian.Uint32(body[bodyLength:])) {
		return 0
	}
	if at > 0 {
		at--
	}
	entry := uint64(0)
	if count := uint64(binary.LittleEndian.Uint32(body[bodyCount:])); count > 1 {
		rank, ok := r.rank(word(bodyIndex), at)
		if !ok || rank == 0 || rank > count {
			return 0
		}
		entry = rank - 1
	} else if count == 0 {
		return 0
	}
	const size = 12 // of an iseq_insn_info_entry, which begins with the line
	var b [4]byte
	if !r.memory.Read(word(bodyLines)+entry*size, b[:]) {
		return 0
	}
	return max(int(int32(binary.LittleEndian.Uint32(b[:]))), 0)
}

// A succ_index_table (iseq.c): for the first instructions the number of entries up to
// each, nine of seven bits in a word; then blocks of 512 bits, one for each instruction,
// set where an entry begins, with the number of those before the block, and before each
// word of it but the first, in nine bits.
const (
	direct      = 54
	directWords = direct / 9
	blockBits   = 512
	blockRanks  = 8
	blockWords  = 16
	blockSize   = 80
)

// rank is how many entries begin up to an instruction.
func (r *ruby) rank(table, at uint64) (uint64, bool) {
	var b [blockSize]byte
	if at < direct {
		word, ok := r.word(table+at/9*8, b[:])
		return word >> (at % 9 * 7) & 0x7f, ok
	}
	at -= direct
	if !r.memory.Read(table+directWords*8+at/blockBits*blockSize, b[:]) {
		return 0, false
	}
	at %= blockBits
	rank := uint64(binary.LittleEndian.Uint32(b[:]))
	if at >= 64 {
		rank += binary.LittleEndian.Uint64(b[blockRanks:]) >> ((at/64 - 1) * 9) & 0x1ff
	}
	word := binary.LittleEndian.Uint64(b[blockWords+at/64*8:])
	return rank + uint64(bits.OnesCount64(word<<(63-at%64))), true
}
