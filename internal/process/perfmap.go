package process

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/host/openfile"
)

// errForeign is returned when a perf map belongs to another user.
var errForeign = errors.New("it belongs neither to the process's user nor to root")

// PerfMap returns the symbols for generated code that the process of an Anon object has written
// so far to /tmp/perf-PID.map. The format is described in
// tools/perf/Documentation/jit-interface.txt in the kernel's tree. The path is in the process's
// own root directory, with its pid in its own pid namespace. If there is no such file, a
// jitdump file that the process has mapped is used.
//
// The file is searched for when a sample first hits the memory. If there was none, it is
// searched for again in each call while the process lives. Once opened, it stays readable. The
// text comes from the process and must not be trusted.
//
// With Options.FollowCode, code that replaced other code during the run is an object of its
// own. Its map has only that code, and the process's main map leaves it out.
//
// The error wraps ErrNoImage for other kinds, and fs.ErrNotExist if the process writes no map.
func (o *Object) PerfMap() (io.Reader, error) {
	if o.Kind != Anon {
		return nil, fmt.Errorf("perf map of %s: %w", o.Path, ErrNoImage)
	}
	if o.line != "" {
		return strings.NewReader(o.line), nil
	}
	if o.perfMap == nil {
		if err := o.openPerfMap(); err != nil {
			return nil, fmt.Errorf("perf map of process %d: %w", o.PID, err)
		}
		o.owner.table.watchCode(o)
	}
	all := io.NewSectionReader(o.perfMap, 0, 2*maxCodeFile) // symbols.ReadPerfMap reads half of it
	if o.reused != nil {
		if o.reused.take(); len(o.reused.codes) > 0 {
			return newFormerNames(o.reused.codes, all), nil
		}
	}
	return all, nil
}

// MapsCode reports whether the process has already written names for its generated code.
func (p *Process) MapsCode() bool {
	o := p.anon
	if o == nil {
		return false
	}
	_, err := o.PerfMap()
	return err == nil
}

// openPerfMap opens the map through the process, or through another process with the same root
// if it has exited.
func (o *Object) openPerfMap() error {
	p := o.owner
	if p.NSPID == 0 {
		return fmt.Errorf("its pid in its namespace is not known: %w", os.ErrNotExist)
	}
	uids := []uint32{0, p.uids[0], p.uids[1]}
	if !p.exited {
		if st, err := p.table.fs.status(p.PID); err == nil {
			uids = append(uids, st.UIDs[:]...)
		}
	}
	name := "/tmp/perf-" + strconv.Itoa(p.NSPID) + ".map"
	var last error = os.ErrNotExist
	for _, name := range append([]string{name}, p.jitdumps()...) {
		for root := range p.table.roots(p) {
			fd, st, err := openfile.Beneath(root, name, openfile.NoLink)
			if err != nil {
				last = err
				continue
			}
			if !slices.Contains(uids, st.Uid) {
				unix.Close(fd)
				return fmt.Errorf("%s: %w", name, errForeign)
			}
			o.perfMap, err = p.table.files.add(fd, &st, &file{name: name, roots: []string{root}, grows: true})
			return err
		}
	}
	return fmt.Errorf("open %s: %w", name, last)
}

// jitdumps returns the paths of the jitdump files that the process has mapped. The mapping
// marks them for perf (tools/perf/Documentation/jitdump-specification.txt).
func (p *Process) jitdumps() (paths []string) {
	name := "jit-" + strconv.Itoa(p.NSPID) + ".dump"
	for i := range p.mappings {
		if o := p.mappings[i].object; o != nil && path.IsAbs(o.Path) && path.Base(o.Path) == name && !slices.Contains(paths, o.Path) {
			paths = append(paths, o.Path)
		}
	}
	return paths
}
