package capture

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/ringtap/ringtap/internal/engine"
	"github.com/ringtap/ringtap/perfevent"
)

// Recorder is a Live source that also saves all records in File.
type Recorder struct {
	*engine.Live
	File *File
}

// procFiles are the files saved from /proc/PID of each process.
var procFiles = []string{"status", "maps", "comm"}

// Record returns a Recorder for live. It saves the /proc files of the processes that live watches,
// and the given files. These should be all files that samples may lie in.
func Record(live *engine.Live, files ...string) (*Recorder, error) {
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

// Read is Live.Read, and also saves the bytes of the records.
func (r *Recorder) Read(ctx context.Context, reader perfevent.Reader, handle func(perfevent.Record) error) error {
	reader.Raw = func(record []byte) { r.File.Records = append(r.File.Records, record...) }
	err := r.Live.Read(ctx, reader, handle)
	r.File.End, r.File.Events = r.Now(), r.Events()
	return err
}

// Account is Live.Account, and also saves the account.
func (r *Recorder) Account() (engine.Account, error) {
	account, err := r.Live.Account()
	r.File.Account = account
	return account, err
}
