package jvm

import (
	"os"

	"golang.org/x/sys/unix"
)

func dup(fd int) (*os.File, error) {
	copied, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("fcntl", err)
	}
	return os.NewFile(uintptr(copied), "socket"), nil
}
