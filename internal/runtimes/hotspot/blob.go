package hotspot

import (
	"encoding/binary"
	"slices"
	"sort"
)

// blob is a block of the code cache: a compiled method, a stub, or the interpreter.
type blob struct {
	addr, size uint64
	name       uint64 // address of its name
	code       uint64 // address of the first instruction
	complete   uint64 // from this address on the frame has its full size
	frame      uint64 // bytes from the stack pointer to the caller's; 0 if the size is not fixed
	method     uint64 // the Method of a compiled method, else 0
	compileID  uint32
	head       []byte // content of the structure at addr
	age        uint64 // the sample for which it was last read
}

const (
	// maxHeaps is more than the number of code heaps (CodeBlobType in
	// src/hotspot/share/code/codeBlob.hpp).
	maxHeaps = 16
	// maxHops bounds the walk of the segment map. One hop spans 254 segments of at least 64
	// bytes.
	maxHops = 1 << 12
	// freeSegment marks memory without a block in the map.
	freeSegment = 0xff
	maxBlobSize = 1 << 30
	maxFrame    = 1 << 20
	maxBlobs    = 1 << 14 // that are cached
)

// heap is one of the parts of the code cache.
type heap struct{ low, top, segments, bits uint64 }

// readHeaps reads the bounds of the code heaps. They grow, so it runs again when an address is
// in none of them.
func (r *Runtime) readHeaps() bool {
	v := &view{mem: r.mem}
	l := r.layout
	var all []uint64
	if l.heaps == absent {
		all = append(all, v.u64(l.heap))
	} else {
		array := v.u64(l.heaps)
		n := v.u32(array + l.arrayLength)
		data := v.u64(array + l.arrayData)
		if v.bad || n > maxHeaps {
			return false
		}
		for i := range uint64(n) {
			all = append(all, v.u64(data+8*i))
		}
	}
	r.heaps = r.heaps[:0]
	for _, at := range all {
		h := heap{v.u64(at + l.memory + l.low), v.u64(at + l.memory + l.top), v.u64(at + l.segments + l.low), uint64(v.u32(at + l.segmentBits))}
		if v.bad || h.bits > 16 || h.low > h.top {
			return false
		}
		r.heaps = append(r.heaps, h)
	}
	return !v.bad
}

// heapOf returns the heap that contains an address.
func (r *Runtime) heapOf(pc uint64) (heap, bool) {
	for range 2 {
		for _, h := range r.heaps {
			if h.low <= pc && pc < h.top {
				return h, true
			}
		}
		if !r.readHeaps() {
			break
		}
	}
	return heap{}, false
}

// blobAt returns the blob that contains an address. If the memory can't be read any more, it
// returns the last blob known there.
func (r *Runtime) blobAt(pc uint64) (blob, bool) {
	i := sort.Search(len(r.blobs), func(i int) bool { return r.blobs[i].addr > pc })
	known := i > 0 && pc < r.blobs[i-1].addr+r.blobs[i-1].size
	if known && r.blobs[i-1].age == r.age {
		return r.blobs[i-1], true
	}
	b, ok := r.findBlob(pc)
	if !ok {
		if known && !r.mem.Read(pc, make([]byte, 1)) {
			return r.blobs[i-1], true
		}
		return blob{}, false
	}
	b.age = r.age
	if known && r.blobs[i-1].addr == b.addr && r.blobs[i-1].compileID == b.compileID {
		r.blobs[i-1].age = r.age
		return b, true
	}
	if len(r.blobs) >= maxBlobs {
		r.blobs = nil
	}
	r.blobs = slices.DeleteFunc(r.blobs, func(old blob) bool { return old.addr < b.addr+b.size && b.addr < old.addr+old.size })
	i = sort.Search(len(r.blobs), func(i int) bool { return r.blobs[i].addr > pc })
	r.blobs = slices.Insert(r.blobs, i, b)
	return b, true
}

// findBlob reads the blob that contains an address (CodeHeap::find_block_for in
// src/hotspot/share/memory/heap.cpp).
func (r *Runtime) findBlob(pc uint64) (blob, bool) {
	h, ok := r.heapOf(pc)
	if !ok {
		return blob{}, false
	}
	l, v := r.layout, &view{mem: r.mem}
	segment := (pc - h.low) >> h.bits
	for range maxHops {
		b := uint64(v.u8(h.segments + segment))
		if v.bad || b == freeSegment || b > segment {
			return blob{}, false
		}
		if b == 0 {
			break
		}
		segment -= b
	}
	block := h.low + segment<<h.bits
	head := make([]byte, l.blockSize+l.nmethodSize)
	if !r.mem.Read(block, head) || l.used >= l.blockSize || head[l.used]&1 == 0 {
		return blob{}, false
	}
	return r.parseBlob(block+l.blockSize, head[l.blockSize:], pc)
}

// word and half return the number at an offset in b, or zero if b is too short.
func word(b []byte, offset uint64) uint64 {
	if offset > uint64(len(b)) || uint64(len(b))-offset < 8 {
		return 0
	}
	return binary.LittleEndian.Uint64(b[offset:])
}

func half(b []byte, offset uint64) uint32 {
	if offset > uint64(len(b)) || uint64(len(b))-offset < 4 {
		return 0
	}
	return binary.LittleEndian.Uint32(b[offset:])
}

// parseBlob decodes a blob from its head.
func (r *Runtime) parseBlob(addr uint64, head []byte, pc uint64) (blob, bool) {
	l := r.layout
	b := blob{addr: addr, size: uint64(half(head, l.blobSize)), name: word(head, l.blobName), head: head}
	if l.code != absent {
		b.code = word(head, l.code)
	} else {
		b.code = addr + uint64(half(head, l.codeOffset))
	}
	// Newer versions have a smaller field. -1 means a stub whose frame is always complete.
	complete := int64(int32(half(head, l.complete)))
	if l.kind != absent {
		complete = int64(int16(half(head, l.complete)))
	}
	b.complete = b.code
	if complete > 0 {
		b.complete += uint64(complete)
	}
	if n := int32(half(head, l.frameSize)); n > 0 {
		b.frame = 8 * uint64(n)
	}
	if b.size == 0 || b.size > maxBlobSize || pc < b.code || pc >= addr+b.size || b.code < addr || b.frame > maxFrame {
		return blob{}, false
	}
	if r.isNMethod(&b) {
		b.method, b.compileID = word(head, l.method), half(head, l.compileID)
	}
	return b, true
}

// isNMethod reports whether a blob is a compiled method.
func (r *Runtime) isNMethod(b *blob) bool {
	if l := r.layout; l.kind != absent {
		return l.kind < uint64(len(b.head)) && uint64(b.head[l.kind]) == l.kindNMethod
	}
	name := r.blobName(b)
	return name == "nmethod" || name == "native nmethod"
}

// blobName returns a blob's name, which Compiler.perfmap prints for blobs other than methods.
func (r *Runtime) blobName(b *blob) string {
	if name, ok := r.blobNames[b.name]; ok {
		return name
	}
	v := &view{mem: r.mem}
	name := v.text(b.name, maxName)
	if !v.bad && len(r.blobNames) < maxBlobNames {
		r.blobNames[b.name] = name
	}
	return name
}

// maxBlobNames bounds the cached names. Except for stubs they are constants in libjvm.so.
const maxBlobNames = 1 << 10
