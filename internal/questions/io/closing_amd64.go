package io

import "golang.org/x/sys/unix"

// closingCalls are the system calls after which a descriptor may be another file.
// The value is the argument that is the descriptor.
var closingCalls = map[int64]int{
	unix.SYS_CLOSE:       0,
	unix.SYS_CLOSE_RANGE: 0,
	unix.SYS_DUP2:        1,
	unix.SYS_DUP3:        1,
}

// makingCalls are system calls whose result is a descriptor, and its type, or what
// it most often is.
var makingCalls = map[int64]string{
	unix.SYS_OPEN:           "file",
	unix.SYS_CREAT:          "file",
	unix.SYS_EVENTFD:        "eventfd",
	unix.SYS_EPOLL_CREATE:   "eventpoll",
	unix.SYS_OPENAT:         "file",
	unix.SYS_OPENAT2:        "file",
	unix.SYS_SOCKET:         "socket",
	unix.SYS_ACCEPT:         "socket",
	unix.SYS_ACCEPT4:        "socket",
	unix.SYS_EVENTFD2:       "eventfd",
	unix.SYS_SIGNALFD4:      "signalfd",
	unix.SYS_TIMERFD_CREATE: "timerfd",
	unix.SYS_MEMFD_CREATE:   "file",
	unix.SYS_INOTIFY_INIT1:  "inotify",
	unix.SYS_EPOLL_CREATE1:  "eventpoll",
	unix.SYS_DUP:            "", // of one that the result does not tell; its number is taken
}

// pairCalls are system calls that make two descriptors, and their type.
var pairCalls = map[int64]string{
	unix.SYS_PIPE:       "pipe",
	unix.SYS_PIPE2:      "pipe",
	unix.SYS_SOCKETPAIR: "socket",
}
