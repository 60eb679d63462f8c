package memleak

import "github.com/ringtap/ringtap/internal/collect/table"

// allocation is memory that was not freed.
type allocation struct {
	address uint64 // 0: the slot is empty
	size    uint64 // bytes
	site    uint32 // index into holdings.sites
	since   uint32 // milliseconds: see holdings.clock
}

// addresses finds allocations by their address. Ten million take 400 MB.
//
// It is an extendible hash table: a directory of buckets. Each bucket is an open-addressed table
// that is split in two when it is full. So the table grows by 48 KiB at a time and never copies
// more than that. Other tables can use the buckets that it gives back.
type addresses struct {
	memory    *memory
	directory []*bucket // indexed by the highest depth bits of the hash
	depth     uint
}

// bucket holds the allocations whose hashes have the same highest bits.
type bucket struct {
	slots []allocation // length is a power of two
	used  int
	depth uint // number of highest bits that the hashes have in common
	owned bool // slots belong to memory; otherwise they are on Go's heap
}

const (
	fewSlots  = 32
	fullSlots = 2048
	// A bucket is full when four fifths of its slots are taken.
	fullShare, fullOf = 4, 5
)

// hash hashes an address, differently in each run, because the target can choose its addresses.
func (a *addresses) hash(address uint64) uint64 {
	h := (address ^ a.memory.seed) * 0x9e3779b97f4a7c15
	h = (h ^ h>>29) * 0xbf58476d1ce4e5b9
	return h ^ h>>32
}

func (a *addresses) bucket(hash uint64) *bucket {
	if len(a.directory) == 0 {
		return nil
	}
	return a.directory[hash>>(64-a.depth)]
}

// place returns the slot of an address, or the slot that it would get.
func (b *bucket) place(hash, address uint64) int {
	mask := len(b.slots) - 1
	i := int(hash) & mask
	for b.slots[i].address != 0 && b.slots[i].address != address {
		i = (i + 1) & mask
	}
	return i
}

// put adds an allocation at an address that has none. It returns false if there is no memory for
// it.
func (a *addresses) put(rows *table.Rows, new allocation) bool {
	hash := a.hash(new.address)
	b := a.bucket(hash)
	for b == nil || (b.used+1)*fullOf > len(b.slots)*fullShare {
		if !a.grow(rows, b, hash) {
			return false
		}
		b = a.bucket(hash)
	}
	b.slots[b.place(hash, new.address)] = new
	b.used++
	return true
}

// remove removes the allocation at an address.
func (a *addresses) remove(address uint64) (allocation, bool) {
	hash := a.hash(address)
	b := a.bucket(hash)
	if b == nil {
		return allocation{}, false
	}
	i := b.place(hash, address)
	removed := b.slots[i]
	if removed.address == 0 {
		return removed, false
	}
	b.used--
	// Move the entries after it up, as far as the next gap, unless they are in their own slot.
	mask := len(b.slots) - 1
	for j := (i + 1) & mask; b.slots[j].address != 0; j = (j + 1) & mask {
		home := int(a.hash(b.slots[j].address)) & mask
		if (j-home)&mask >= (j-i)&mask {
			b.slots[i] = b.slots[j]
			i = j
		}
	}
	b.slots[i] = allocation{}
	return removed, true
}

// grow makes room in the bucket of a hash. It returns false if there is no memory.
func (a *addresses) grow(rows *table.Rows, b *bucket, hash uint64) bool {
	switch {
	case b == nil:
		first := &bucket{}
		if !first.take(a.memory, rows, fewSlots) {
			return false
		}
		a.directory = []*bucket{first}
		return true
	case len(b.slots) < fullSlots:
		larger := &bucket{depth: b.depth}
		if !larger.take(a.memory, rows, 2*len(b.slots)) {
			return false
		}
		a.move(b, larger, larger)
		a.replace(hash, b.depth, larger, larger)
		return true
	}
	if b.depth == a.depth {
		if !a.memory.take(rows, len(a.directory)*directoryBytes) {
			return false
		}
		double := make([]*bucket, 2*len(a.directory))
		for i := range double {
			double[i] = a.directory[i/2]
		}
		a.directory = double
		a.depth++
	}
	lower, upper := &bucket{depth: b.depth + 1}, &bucket{depth: b.depth + 1}
	if !lower.take(a.memory, rows, fullSlots) {
		return false
	}
	if !upper.take(a.memory, rows, fullSlots) {
		lower.give(a.memory)
		return false
	}
	a.move(b, lower, upper)
	a.replace(hash, b.depth, lower, upper)
	return true
}

// directoryBytes is the size of a directory entry.
const directoryBytes = 8

// move distributes the entries of b to lower and upper, which may be the same bucket, and gives b
// back.
func (a *addresses) move(b, lower, upper *bucket) {
	for i := range b.slots {
		if b.slots[i].address == 0 {
			continue
		}
		hash, to := a.hash(b.slots[i].address), lower
		if upper != lower && hash<<b.depth>>63 != 0 {
			to = upper
		}
		to.slots[to.place(hash, b.slots[i].address)] = b.slots[i]
		to.used++
	}
	b.give(a.memory)
}

// replace puts lower and upper, which may be the same, in place of the bucket for the highest depth
// bits of hash.
func (a *addresses) replace(hash uint64, depth uint, lower, upper *bucket) {
	n := len(a.directory) >> depth
	first := int(hash>>(64-depth)) * n
	for i := range n {
		a.directory[first+i] = lower
		if i >= n/2 && n > 1 {
			a.directory[first+i] = upper
		}
	}
}

// all yields every allocation.
func (a *addresses) all(yield func(*allocation)) {
	var last *bucket
	for _, b := range a.directory {
		if b == last {
			continue
		}
		last = b
		for i := range b.slots {
			if b.slots[i].address != 0 {
				yield(&b.slots[i])
			}
		}
	}
}

// clear removes everything and gives the memory back.
func (a *addresses) clear() {
	var last *bucket
	for _, b := range a.directory {
		if b != last {
			b.give(a.memory)
		}
		last = b
	}
	if len(a.directory) > 1 {
		a.memory.bytes -= (len(a.directory) - 1) * directoryBytes
	}
	a.directory, a.depth = nil, 0
}
