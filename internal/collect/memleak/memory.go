package memleak

import (
	"math/rand/v2"
	"runtime/debug"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/collect/table"
)

// memory allocates the slots of all buckets, and counts the bytes. The slots are outside of Go's
// heap, because the garbage collector would need twice as much.
type memory struct {
	seed   uint64
	bytes  int            // everything that was taken, including unused buckets
	free   [][]allocation // slots of unused buckets, fullSlots each
	mapped [][]byte
}

const (
	slotBytes   = int(unsafe.Sizeof(allocation{}))
	bucketBytes = fullSlots * slotBytes
	// chunkBuckets is how many buckets are mapped at a time.
	chunkBuckets = 16
)

func newMemory() *memory { return &memory{seed: rand.Uint64()} }

// take counts bytes more. It returns false if Options.Memory does not allow them.
func (m *memory) take(rows *table.Rows, bytes int) bool {
	if !rows.Fits(bytes) {
		return false
	}
	m.bytes += bytes
	return true
}

// take gives the bucket its slots.
func (b *bucket) take(m *memory, rows *table.Rows, slots int) bool {
	if slots < fullSlots {
		if !m.take(rows, slots*slotBytes) {
			return false
		}
		b.slots = make([]allocation, slots)
		return true
	}
	if len(m.free) == 0 && !m.chunk(rows) {
		return false
	}
	last := len(m.free) - 1
	b.slots, b.owned = m.free[last], true
	m.free = m.free[:last]
	clear(b.slots)
	return true
}

// chunk maps memory for more buckets.
func (m *memory) chunk(rows *table.Rows) bool {
	if !m.take(rows, chunkBuckets*bucketBytes) {
		return false
	}
	chunk, err := unix.Mmap(-1, 0, chunkBuckets*bucketBytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		m.bytes -= chunkBuckets * bucketBytes
		return false
	}
	lowerMemoryLimit(len(chunk))
	m.mapped = append(m.mapped, chunk)
	slots := unsafe.Slice((*allocation)(unsafe.Pointer(unsafe.SliceData(chunk))), chunkBuckets*fullSlots)
	for i := range chunkBuckets {
		m.free = append(m.free, slots[i*fullSlots:(i+1)*fullSlots:(i+1)*fullSlots])
	}
	return true
}

// give gives the bucket's slots back.
func (b *bucket) give(m *memory) {
	if b.owned {
		m.free = append(m.free, b.slots)
	} else {
		m.bytes -= len(b.slots) * slotBytes
	}
	b.slots, b.used = nil, 0
}

// close unmaps everything.
func (m *memory) close() (err error) {
	for _, chunk := range m.mapped {
		lowerMemoryLimit(-len(chunk))
		if failed := unix.Munmap(chunk); failed != nil {
			err = failed
		}
	}
	m.mapped, m.free = nil, nil
	return err
}

// lowerMemoryLimit lowers the memory limit of Go's runtime by bytes. The limit is meant for the
// whole process, but the runtime does not see memory that ringtap maps itself.
func lowerMemoryLimit(bytes int) {
	debug.SetMemoryLimit(debug.SetMemoryLimit(-1) - int64(bytes))
}
