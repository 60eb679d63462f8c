package capture

import (
	"compress/gzip"
	"encoding/gob"
	"fmt"
	"io"

	"github.com/ringtap/ringtap/internal/run"
	"github.com/ringtap/ringtap/perfevent"
)

// File is a recording.
type File struct {
	Arch       string // GOARCH
	Begin, End uint64 // CLOCK_MONOTONIC, nanoseconds
	Processes  []int  // that were watched
	Events     []perfevent.EventAttr
	Samplings  []Sampling
	Records    []byte
	Account    run.Account
	Proc       map[string][]byte // files below /proc: "77/status"
	Files      map[string][]byte // files that were mapped, by path
}

// Sampling is what the reader of the records must know of an event besides its attributes.
type Sampling struct {
	Format string // of the event, as tracefs has it; "" if there is none
	Return bool   // it is hit when a call returns
	Hit    bool   // it is neither a call's begin nor its end
}

// Write writes the file, compressed.
func (f *File) Write(w io.Writer) error {
	z, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return err
	}
	if err := gob.NewEncoder(z).Encode(f); err != nil {
		return fmt.Errorf("write a capture: %w", err)
	}
	return z.Close()
}

// Read reads what Write has written.
func Read(r io.Reader) (*File, error) {
	z, err := gzip.NewReader(r)
	if err != nil {
		return nil, fmt.Errorf("read a capture: %w", err)
	}
	f := new(File)
	if err := gob.NewDecoder(z).Decode(f); err != nil {
		return nil, fmt.Errorf("read a capture: %w", err)
	}
	return f, nil
}
