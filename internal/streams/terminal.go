package streams

import (
	"context"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Size returns how many columns and lines a terminal has, 0 if the terminal does not know.
// ok reports whether f is a terminal.
func Size(f *os.File) (columns, lines int, ok bool) {
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0, 0, false
	}
	return int(size.Col), int(size.Row), true
}

// EndWithReader cancels when nobody reads the pipe any more that out is: the write
// that would tell may never come, where nothing more happens. It returns when the
// context is done.
func EndWithReader(ctx context.Context, cancel func(), out *os.File) {
	ticker := time.NewTicker(200 * time.Millisecond)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		fds := []unix.PollFd{{Fd: int32(out.Fd())}}
		if n, _ := unix.Poll(fds, 0); n > 0 && fds[0].Revents&unix.POLLERR != 0 {
			cancel()
			return
		}
	}
}
