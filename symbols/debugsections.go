package symbols

import "github.com/ringtap/ringtap/internal/object/elfimage"

// maxDebugBytes limits the total uncompressed size of one file's debug sections.
const maxDebugBytes = 4 << 30

// debugSections reads the debug sections of an image. It implements dwarfline.Splitter.
type debugSections struct {
	image *elfimage.Image
	total uint64
	split splitFiles
}

// SectionData returns the uncompressed bytes of a section, or nil if there is none.
func (d *debugSections) SectionData(name string) ([]byte, error) {
	b, err := d.image.Uncompressed(name, maxDebugBytes-d.total)
	d.total += uint64(len(b))
	return b, err
}
