package io

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// ioCalled says what is needed to know about a system call that moves bytes.
type ioCalled struct {
	in, out  int  // indexes of the arguments that are descriptors; -1 if there is none
	messages bool // the result is a number of messages
	sends    bool // if messages is set: messages are sent
	socket   bool // only sockets can be used with it
	length   int  // index of the argument with the buffer size, if the result may be larger; else 0
}

// ioCalls are the system calls that move bytes, by number.
var ioCalls = map[int64]*ioCalled{
	unix.SYS_READ:     {in: 0, out: -1},
	unix.SYS_READV:    {in: 0, out: -1},
	unix.SYS_PREAD64:  {in: 0, out: -1},
	unix.SYS_PREADV:   {in: 0, out: -1},
	unix.SYS_PREADV2:  {in: 0, out: -1},
	unix.SYS_WRITE:    {in: -1, out: 0},
	unix.SYS_WRITEV:   {in: -1, out: 0},
	unix.SYS_PWRITE64: {in: -1, out: 0},
	unix.SYS_PWRITEV:  {in: -1, out: 0},
	unix.SYS_PWRITEV2: {in: -1, out: 0},

	unix.SYS_RECVFROM: {in: 0, out: -1, socket: true, length: 2}, // with MSG_TRUNC the result is the size of the message
	unix.SYS_RECVMSG:  {in: 0, out: -1, socket: true},
	unix.SYS_RECVMMSG: {in: 0, out: -1, socket: true, messages: true},
	unix.SYS_SENDTO:   {in: -1, out: 0, socket: true},
	unix.SYS_SENDMSG:  {in: -1, out: 0, socket: true},
	unix.SYS_SENDMMSG: {in: -1, out: 0, socket: true, messages: true, sends: true},

	unix.SYS_SENDFILE:        {in: 1, out: 0},
	unix.SYS_SPLICE:          {in: 0, out: 2},
	unix.SYS_TEE:             {in: 0, out: 1},
	unix.SYS_VMSPLICE:        {in: -1, out: 0},
	unix.SYS_COPY_FILE_RANGE: {in: 0, out: 2},
}

// ioNumbers returns the numbers of the calls that move bytes and of others, in ascending order.
func ioNumbers(others ...int64) []int64 {
	numbers := append(slices.Collect(maps.Keys(ioCalls)), others...)
	slices.Sort(numbers)
	return numbers
}

// anyOf returns a filter for a field that equals one of numbers, which are ascending. The kernel
// evaluates the filter at every system call of the program. The filter is a tree, so that it takes
// few comparisons, not one per number.
func anyOf(field string, numbers []int64) string {
	var ranges []string
	var ends []int64
	for i := 0; i < len(numbers); {
		j := i
		for j+1 < len(numbers) && numbers[j+1] == numbers[j]+1 {
			j++
		}
		if i == j {
			ranges = append(ranges, fmt.Sprintf("%s == %d", field, numbers[i]))
		} else {
			ranges = append(ranges, fmt.Sprintf("(%s >= %d && %s <= %d)", field, numbers[i], field, numbers[j]))
		}
		ends = append(ends, numbers[j])
		i = j + 1
	}
	return anyRange(field, ranges, ends)
}

// anyRange splits the ranges in halves until few are left.
func anyRange(field string, ranges []string, ends []int64) string {
	const few = 3
	if len(ranges) <= few {
		return strings.Join(ranges, " || ")
	}
	half := len(ranges) / 2
	low, high := anyRange(field, ranges[:half], ends[:half]), anyRange(field, ranges[half:], ends[half:])
	return fmt.Sprintf("(%s <= %d && (%s)) || (%s > %d && (%s))", field, ends[half-1], low, field, ends[half-1], high)
}
