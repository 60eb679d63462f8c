package io

import "github.com/ringtap/ringtap/internal/collect/table"

// direction says which way bytes move, as the program sees it. A call that copies from one
// descriptor to another (sendfile, splice) reads and writes.
type direction struct{ reads, writes bool }

// direction returns which way a system call moves bytes.
func (c *ioCalled) direction() direction { return direction{c.in >= 0, c.out >= 0} }

// add counts bytes that were moved.
func (d direction) add(rows *table.Rows, row table.Row, bytes uint64) {
	rows.Add(row, ioSize, bytes)
	if d.reads {
		rows.Add(row, ioRead, bytes)
	}
	if d.writes {
		rows.Add(row, ioWritten, bytes)
	}
}

// directionOf returns which way a request of io_uring moves bytes: see movingRequests.
func directionOf(opcode uint64) direction {
	switch opcode {
	case 2, 5, 9, 23, 26, 47, 48, 61: // WRITEV, WRITE_FIXED, SENDMSG, WRITE, SEND, SEND_ZC, SENDMSG_ZC, WRITEV_FIXED
		return direction{writes: true}
	case 30, 33: // SPLICE, TEE
		return direction{reads: true, writes: true}
	}
	return direction{reads: true}
}
