package capture

import (
	"compress/gzip"
	"encoding/gob"
	"fmt"
	"io"

	"github.com/ringtap/ringtap/internal/engine"
	"github.com/ringtap/ringtap/perfevent"
)

// File is a recording.
type File struct {
	Arch       string // GOARCH
	Begin, End uint64 // CLOCK_MONOTONIC, nanoseconds
	Processes  []int  // PIDs of the watched processes
	Events     []perfevent.EventAttr
	Samplings  []Sampling
	Records    []byte
	Account    engine.Account
	Proc       map[string][]byte // files below /proc: "77/status"
	Files      map[string][]byte // mapped files, by path
}

// Sampling has what is needed to read the records of an event, besides its attributes.
type Sampling struct {
	Format string // the event's format file in tracefs; "" if it has none
	Return bool   // the event is hit when a call returns
	Hit    bool   // the event is neither the start nor the end of a call
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

// Read reads a file that Write has written.
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
