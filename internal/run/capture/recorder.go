package capture

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/ringtap/ringtap/internal/run"
	"github.com/ringtap/ringtap/perfevent"
)

// Recorder is a source that keeps what it hands on.
type Recorder struct {
	*run.Live
	File *File
}

// procFiles are what is kept of each process.
var procFiles = []string{"status", "maps", "comm"}

// Record keeps what a source hands on, and what /proc says of the processes that it
// watches. The files are kept that its samples may lie in.
func Record(live *run.Live, files ...string) (*Recorder, error) {
	f := &File{Arch: runtime.GOARCH, Begin: live.Now(), Processes: live.Processes(), Proc: make(map[string][]byte), Files: make(map[string][]byte)}
	for _, pid := range f.Processes {
		for _, name := range procFiles {
			text, err := live.Host().Read(pid, name)
			if err != nil {
				return nil, fmt.Errorf("keep what /proc says: %w", err)
			}
			f.Proc[fmt.Sprintf("%d/%s", pid, name)] = text
			if name == "comm" || name == "status" {
				f.Proc[fmt.Sprintf("%d/task/%d/%s", pid, pid, name)] = text
			}
		}
	}
	for _, name := range files {
		path, err := filepath.Abs(name)
		if err != nil {
			return nil, err
		}
		if f.Files[path], err = os.ReadFile(path); err != nil {
			return nil, fmt.Errorf("keep a file: %w", err)
		}
	}
	return &Recorder{Live: live, File: f}, nil
}

// Read keeps the bytes of the records.
func (r *Recorder) Read(ctx context.Context, by perfevent.Reader, handle func(perfevent.Record) error) error {
	by.Raw = func(record []byte) { r.File.Records = append(r.File.Records, record...) }
	err := r.Live.Read(ctx, by, handle)
	r.File.End, r.File.Events = r.Now(), r.Events()
	return err
}

// Account keeps the account.
func (r *Recorder) Account() (run.Account, error) {
	account, err := r.Live.Account()
	r.File.Account = account
	return account, err
}
