package io

import "golang.org/x/sys/unix"

// Results by which the kernel tells its own entry code to restart a system call after a
// signal, or to return EINTR (include/linux/errno.h). Programs never see them, but the
// tracepoint does.
const (
	restartSys      = -512
	restartNoIntr   = -513
	restartNoHand   = -514
	restartByRecord = -516
)

// isRetry reports whether a result is no error but a request to make the call again: it found
// no data or no room on a descriptor that must not wait, or a signal interrupted it.
func isRetry(result int64) bool {
	switch result {
	case -int64(unix.EAGAIN), -int64(unix.EINTR), restartSys, restartNoIntr, restartNoHand, restartByRecord:
		return true
	}
	return false
}
