package symbols

import "github.com/ringtap/ringtap/internal/elfimage"

// maxDebugBytes limits the debug sections of one file, all together and
// uncompressed.
const maxDebugBytes = 4 << 30

// debugSections gives the debug sections of an image, as dwarfline.Splitter.
type debugSections struct {
	image *elfimage.Image
	total uint64
	split splitFiles
}

// SectionData returns the uncompressed bytes of a section, nil when there is
// none.
func (d *debugSections) SectionData(name string) ([]byte, error) {
	b, err := d.image.Uncompressed(name, maxDebugBytes-d.total)
	d.total += uint64(len(b))
	return b, err
}
