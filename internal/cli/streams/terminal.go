package streams

import (
	"context"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Size returns the number of columns and lines of a terminal, or 0 if the terminal does not know them.
// ok reports whether f is a terminal.
func Size(f *os.File) (columns, lines int, ok bool) {
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0, 0, false
	}
	return int(size.Col), int(size.Row), true
}

// EndWithReader calls cancel when the pipe out has no reader any more. A failing write would
// show that, too, but a run in which nothing happens never writes. EndWithReader returns then,
// or when ctx is done.
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
