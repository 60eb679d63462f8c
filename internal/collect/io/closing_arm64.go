package io

import "golang.org/x/sys/unix"

// closingCalls are the system calls after which a descriptor may be another file. The value is the
// index of the descriptor among the arguments.
var closingCalls = map[int64]int{
	unix.SYS_CLOSE:       0,
	unix.SYS_CLOSE_RANGE: 0,
	unix.SYS_DUP3:        1,
}

// makingCalls are the system calls that return a descriptor. The value is the descriptor's type, or
// the most frequent one.
var makingCalls = map[int64]string{
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
	unix.SYS_DUP:            "", // the result does not say which descriptor was duplicated
}

// pairCalls are the system calls that make two descriptors. The value is the type of both.
var pairCalls = map[int64]string{
	unix.SYS_PIPE2:      "pipe",
	unix.SYS_SOCKETPAIR: "socket",
}
