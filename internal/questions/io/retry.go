package io

import "golang.org/x/sys/unix"

// Results with which a system call asks the kernel's entry code to restart it after a signal, or to
// return EINTR (include/linux/errno.h). Programs never see them; the tracepoint does.
const (
	restartSys    = -512
	restartNoIntr = -513
	restartNoHand = -514
	restartBlock  = -516
)

// isRetry reports whether a result is no error but a request to make the call again: it found
// no data or no room on a descriptor that must not wait, or a signal interrupted it.
func isRetry(result int64) bool {
	switch result {
	case -int64(unix.EAGAIN), -int64(unix.EINTR), restartSys, restartNoIntr, restartNoHand, restartBlock:
		return true
	}
	return false
}
