package main

import (
	"bytes"
	"errors"
	"testing"
)

func TestWarningsAreSentences(t *testing.T) {
	var out bytes.Buffer
	c := &console{stderr: &out}
	log := c.logger(false).With("target", "process 7")
	log.Info("nobody reads this")
	log.Warn("events stay defined", "group", "g\x1b[2J", "error", errors.Join(errors.New("first"), errors.New("second")))
	want := "warning: events stay defined (target process 7, group g\\x1b[2J): first\n  second\n"
	if got := out.String(); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
