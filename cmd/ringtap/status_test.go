package main

import (
	"bytes"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/ringtap/ringtap/internal/profiler"
)

func TestTheStatusLineGivesWayToWhatIsWritten(t *testing.T) {
	var screen bytes.Buffer
	s := newStatus(&console{stderr: &screen})
	s.draw(&profiler.Progress{Elapsed: 1600 * time.Millisecond, Samples: 7})
	s.draw(&profiler.Progress{Named: 3, Frames: 9})
	failure := errors.New("no more paper")
	err := s.without(func() error {
		fmt.Fprint(&screen, "table\n")
		return failure
	})
	if err != failure {
		t.Errorf("without returned %v, want %v", err, failure)
	}
	s.draw(&profiler.Progress{Elapsed: 2 * time.Second})
	s.close()
	const erase = "\r\x1b[K"
	want := erase + "sampling 2s: 7 samples in this interval (Ctrl-C to end)" +
		erase + "symbolizing 3 of 9 frames" +
		erase + "table\n" +
		erase + "sampling 2s: 0 samples in this interval (Ctrl-C to end)" +
		erase
	if got := screen.String(); got != want {
		t.Errorf("on the screen\n%q, want\n%q", got, want)
	}
}

func TestAPipeGetsNoStatusLine(t *testing.T) {
	var pipe bytes.Buffer
	s := newStatus(&console{stderr: &pipe})
	s.show(profiler.Progress{Samples: 7})
	if err := s.without(func() error { return nil }); err != nil {
		t.Error(err)
	}
	s.close()
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
	s := newStatus(&console{stderr: screen, live: true})
	s.show(profiler.Progress{Samples: 1})
	<-screen.begun
	s.show(profiler.Progress{Samples: 2}) // returns
	close(screen.let)
	go func() {
		for range screen.begun {
		}
	}()
	s.close()
	close(screen.begun)
}
