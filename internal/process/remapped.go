package process

import (
	"debug/elf"

	"github.com/ringtap/ringtap/internal/object/elfimage"
)

// Some programs copy their own text to anonymous memory at the same address, to get large
// pages: databases, and node --use-largepages=on. The code is still the file's, with its
// symbols and unwind table.
//
// Anonymous executable memory is a copy of a file's text if it lies within the range where the
// loader placed the file: without gaps, between two areas of the file whose load addresses
// agree.

// maxRemapped bounds, per life of a process, how often a new mapping makes us read all
// mappings, to check whether it is a copy of a file's text.
const maxRemapped = 16

// pageMask masks the offset in a page. arm64's ABI allows pages of up to 64 KiB, but ringtap
// supports kernels with 4 KiB pages there.
const pageMask = 1<<12 - 1

// remappedReader finds copies of text in the lines of one maps file, which are sorted by
// address.
type remappedReader struct {
	table   *Table
	process *Process
	before  fileArea // the last file area in the current run of adjacent areas
	end     uint64   // end of the last area
	copies  []mapping
}

// fileArea is an area that maps a file.
type fileArea struct {
	Area
	path string
}

// readRemapped finds copies of text in anonymous memory and maps them to their file. name is
// the maps file below /proc/PID.
func (t *Table) readRemapped(p *Process, name string) {
	r := &remappedReader{table: t, process: p}
	_ = t.fs.lines(t.fs.Path(p.PID, name), func(line []byte) bool {
		if a, ok := parseArea(line); ok {
			r.add(&a)
		}
		return true
	}) // readMapsFile has reported the error
}

// add processes the next area.
func (r *remappedReader) add(a *Area) {
	if a.Start != r.end {
		r.before, r.copies = fileArea{}, r.copies[:0]
	}
	r.end = a.End
	path, _ := cutDeleted(unescape(a.Path))
	switch {
	case a.id.inode != 0 && !isAnonymous(string(path)):
		if len(r.copies) > 0 && a.id == r.before.id {
			r.assign(a)
		}
		r.before, r.copies = fileArea{*a, string(path)}, r.copies[:0]
	case a.Executable && r.before.id.inode != 0 && len(r.copies) < maxMappings:
		r.copies = append(r.copies, mapping{start: a.Start, end: a.End})
	}
}

// assign maps the copies between two areas of a file to that file.
func (r *remappedReader) assign(after *Area) {
	o := r.table.fileObject(r.process, &seenMapping{id: r.before.id, path: []byte(r.before.path)})
	file, size, err := o.Open()
	if o.Kind != File || err != nil {
		return
	}
	image, err := elfimage.New(file, size)
	if err != nil {
		return
	}
	for _, base := range loadAddresses(image, &r.before.Area) {
		for _, other := range loadAddresses(image, after) {
			if base != other {
				continue
			}
			for _, m := range r.copies {
				if offset, ok := textOffset(image, m.start-base); ok {
					r.process.put(mapping{m.start, m.end, offset, o})
				}
			}
			return
		}
	}
}

// loadAddresses returns the possible load addresses of the file, given one of its areas: one
// for each segment that the area may belong to.
func loadAddresses(image *elfimage.Image, a *Area) (bases []uint64) {
	for i := range image.Segments {
		s := &image.Segments[i]
		if s.Type == elf.PT_LOAD && a.Offset >= s.Off&^pageMask && a.Offset < s.Off+s.Filesz {
			bases = append(bases, a.Start-(s.Vaddr+a.Offset-s.Off))
		}
	}
	return bases
}

// textOffset returns the file offset of an address in the file's executable segment.
func textOffset(image *elfimage.Image, vaddr uint64) (uint64, bool) {
	for i := range image.Segments {
		s := &image.Segments[i]
		if s.Type == elf.PT_LOAD && s.Flags&elf.PF_X != 0 && vaddr >= s.Vaddr&^pageMask && vaddr < s.Vaddr+s.Memsz {
			return s.Off + vaddr - s.Vaddr, true
		}
	}
	return 0, false
}
