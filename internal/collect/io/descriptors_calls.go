package io

import "golang.org/x/sys/unix"

// closing handles the start of a system call that closes or replaces a descriptor.
func (d *descriptors) closing(pid uint32, call int64, args []byte) {
	index, ok := closingCalls[call]
	if !ok {
		return
	}
	if call == unix.SYS_CLOSE_RANGE {
		d.forget(pid) // nobody knows which were open; the remaining ones are looked up again
		return
	}
	fd, ok := argument(args, index)
	if !ok {
		return
	}
	if _, ok := d.known[pid][fd]; ok {
		delete(d.known[pid], fd)
		d.count--
	}
	if index == 1 { // dup2(2): it becomes a copy of the other one
		if from, ok := argument(args, 0); ok {
			if known, ok := d.known[pid][from]; ok {
				if known.atExec = unsure; call != unix.SYS_DUP3 {
					known.atExec = stays
				}
				d.set(pid, fd, known)
			}
		}
	}
}

// made handles the result of a system call that makes descriptors.
func (d *descriptors) made(pid uint32, call, result int64) {
	if kind, ok := makingCalls[call]; ok && result >= 0 {
		d.set(pid, int32(result), descriptor{word: kind})
	}
	// The kernel writes a pair to memory, which is not seen. It uses the lowest free numbers.
	kind, ok := pairCalls[call]
	if !ok || result != 0 || !d.whole[pid] {
		return
	}
	for fd, left := int32(0), 2; left > 0; fd++ {
		if _, used := d.known[pid][fd]; !used {
			d.set(pid, fd, descriptor{word: kind})
			left--
		}
	}
}

// forget forgets the descriptors of a process.
func (d *descriptors) forget(pid uint32) {
	d.count -= len(d.known[pid])
	delete(d.known, pid)
	delete(d.whole, pid)
}

// replaced handles an exec, which closes some descriptors. If a descriptor can't be looked up
// later, its old word is the best guess.
func (d *descriptors) replaced(pid uint32) {
	for fd, known := range d.known[pid] {
		switch known.atExec {
		case closes:
			delete(d.known[pid], fd)
			d.count--
		case unsure:
			d.known[pid][fd] = descriptor{word: known.word, path: known.path}
			delete(d.whole, pid)
		}
	}
}

// forgetAll forgets the descriptors of all processes.
func (d *descriptors) forgetAll() {
	clear(d.known)
	clear(d.whole)
	d.count = 0
}
