package io

import "golang.org/x/sys/unix"

// With these results, a system call asks the kernel's entry code to restart it after a signal, or
// to return EINTR (include/linux/errno.h). Programs never see them, but the tracepoint does.
const (
	restartSys    = -512
	restartNoIntr = -513
	restartNoHand = -514
	restartBlock  = -516
)

// isRetry reports whether a result is not an error but a request to repeat the call. Either a
// nonblocking descriptor had no data or no room, or a signal interrupted the call.
func isRetry(result int64) bool {
	switch result {
	case -int64(unix.EAGAIN), -int64(unix.EINTR), restartSys, restartNoIntr, restartNoHand, restartBlock:
		return true
	}
	return false
}
