package profiler

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/ringtap/ringtap/internal/collect/table"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/runtimes/jvm"
)

// askFor is how long Java virtual machines may take to write their maps.
const askFor = 3 * time.Second

// virtualMachines tracks the Java virtual machines of a run, by PID.
type virtualMachines struct {
	others map[int]bool     // not a Java virtual machine, or did not answer
	maps   map[int]*os.File // the latest map
}

// writeMaps asks the virtual machines in a window to write maps of their code, all at the same
// time. It returns notes about machines that failed.
func (v *virtualMachines) writeMaps(w *table.Window) (notes []string) {
	if v.others == nil {
		v.others, v.maps = make(map[int]bool), make(map[int]*os.File)
	}
	ctx, cancel := context.WithTimeout(context.Background(), askFor)
	defer cancel()
	var asked []int
	for i := range w.Processes {
		if pid := w.Processes[i].TGID; !v.others[pid] && !slices.Contains(asked, pid) {
			if v.others[pid] = !jvm.Is(pid); !v.others[pid] {
				asked = append(asked, pid)
			}
		}
	}
	files, errs := make([]*os.File, len(asked)), make([]error, len(asked))
	var all sync.WaitGroup
	for i, pid := range asked {
		all.Go(func() { files[i], errs[i] = jvm.WriteMap(ctx, pid) })
	}
	all.Wait()
	for i, pid := range asked {
		if errs[i] == nil {
			v.forget(pid)
			v.maps[pid] = files[i]
			continue
		}
		v.others[pid] = true // not again: each vain attempt makes the process dump its threads
		if !errors.Is(errs[i], jvm.ErrNot) {
			notes = append(notes, fmt.Sprint(errs[i]))
		}
	}
	v.name(w)
	return notes
}

// name uses the maps to name generated code in a window. The maps may be newer than the window.
func (v *virtualMachines) name(w *table.Window) {
	for _, image := range w.Images {
		if file := v.maps[image.PID]; file != nil && image.Kind == process.Anon {
			image.PerfMap, image.Err = io.NewSectionReader(file, 0, 1<<63-1), nil
		}
	}
}

func (v *virtualMachines) forget(pid int) {
	if file := v.maps[pid]; file != nil {
		_ = file.Close() // it was only read
	}
}

func (v *virtualMachines) close() {
	for pid := range v.maps {
		v.forget(pid)
	}
}
