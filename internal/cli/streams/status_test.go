package streams

import (
	"bytes"
	"errors"
	"fmt"
	"testing"
)

type line string

func (l line) String() string { return string(l) }

func TestTheStatusLineGivesWayToWhatIsWritten(t *testing.T) {
	var screen bytes.Buffer
	s := NewStatus(&screen, false)
	s.draw(line("7 samples"))
	s.draw(line("3 of 9 frames"))
	failure := errors.New("no more paper")
	err := s.Without(func() error {
		fmt.Fprint(&screen, "table\n")
		return failure
	})
	if err != failure {
		t.Errorf("without returned %v, want %v", err, failure)
	}
	s.draw(line("0 samples"))
	s.Close()
	const erase = "\r\x1b[K"
	want := erase + "7 samples" +
		erase + "3 of 9 frames" +
		erase + "table\n" +
		erase + "0 samples" +
		erase
	if got := screen.String(); got != want {
		t.Errorf("on the screen\n%q, want\n%q", got, want)
	}
}

func TestAPipeGetsNoStatusLine(t *testing.T) {
	var pipe bytes.Buffer
	s := NewStatus(&pipe, false)
	s.Show(line("7"))
	if err := s.Without(func() error { return nil }); err != nil {
		t.Error(err)
	}
	s.Close()
	if pipe.Len() > 0 {
		t.Errorf("got %q", pipe.String())
	}
}

// stalled is a terminal that takes nothing until it is let go.
type stalled struct{ begun, let chan struct{} }

func (s stalled) Write(b []byte) (int, error) {
	s.begun <- struct{}{}
	<-s.let
	return len(b), nil
}

func TestATerminalThatStandsStillHoldsUpNobodyElse(t *testing.T) {
	screen := stalled{make(chan struct{}), make(chan struct{})}
	s := NewStatus(screen, true)
	s.Show(line("1"))
	<-screen.begun
	s.Show(line("2")) // returns
	close(screen.let)
	go func() {
		for range screen.begun {
		}
	}()
	s.Close()
	close(screen.begun)
}
