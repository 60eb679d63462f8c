package streams

import (
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

// Status is the line on a terminal that shows how far a run is. It is redrawn
// in the same place, and only on a terminal.
//
// A separate goroutine draws it, so that a stopped terminal (Ctrl-S) does not
// delay the goroutine that reads the rings.
type Status struct {
	latest atomic.Pointer[fmt.Stringer]
	end    chan struct{}
	ended  sync.WaitGroup

	mu    sync.Mutex // held while writing to the terminal
	w     io.Writer
	shown bool
}

// statusEvery is how often the line is drawn.
const statusEvery = 500 * time.Millisecond

// NewStatus starts drawing the line on w if terminal is true. The caller must call
// Close.
func NewStatus(w io.Writer, terminal bool) *Status {
	s := &Status{w: w, end: make(chan struct{})}
	if terminal {
		s.ended.Go(s.run)
	}
	return s
}

// run draws the latest text, if it is new, every statusEvery until Close.
func (s *Status) run() {
	ticker := time.NewTicker(statusEvery)
	defer ticker.Stop()
	for {
		select {
		case <-s.end:
			return
		case <-ticker.C:
			if p := s.latest.Swap(nil); p != nil {
				s.draw(*p)
			}
		}
	}
}

// Show sets the text that is drawn next. It never waits.
func (s *Status) Show(text fmt.Stringer) { s.latest.Store(&text) }

func (s *Status) draw(text fmt.Stringer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shown = true
	fmt.Fprintf(s.w, "\r\x1b[K%s", text)
}

// Without removes the line and calls write, which writes to the same terminal. The line comes
// back with the next Show.
func (s *Status) Without(write func() error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clear()
	return write()
}

// Close removes the line for good. Call it once.
func (s *Status) Close() {
	close(s.end)
	s.ended.Wait()
	s.clear()
}

// clear removes the line. The caller holds mu, or run has ended.
func (s *Status) clear() {
	if s.shown {
		fmt.Fprint(s.w, "\r\x1b[K")
		s.shown = false
	}
}
