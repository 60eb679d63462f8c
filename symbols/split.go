package symbols

import (
	"encoding/binary"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/ringtap/ringtap/internal/object/elfimage"
	"github.com/ringtap/ringtap/symbols/dwarfline"
)

// splitFiles finds debug information in separate .dwo and .dwp files (-gsplit-dwarf).
type splitFiles struct {
	opts  Options
	order binary.ByteOrder
	pkg   dwoSections // the sections of PROGRAM.dwp; nil if that file does not exist
	asked bool        // PROGRAM.dwp was looked for
}

// dwoSections are the sections of a .dwo file, by name without the .dwo suffix.
type dwoSections map[string][]byte

// SectionData returns the bytes of a section.
func (s dwoSections) SectionData(name string) ([]byte, error) { return s[name], nil }

// Split returns the sections of a split unit. It looks in the package PROGRAM.dwp, then in the
// file that the skeleton names, then for a file of that name next to the program.
func (d *debugSections) Split(s dwarfline.Skeleton) (dwarfline.Source, error) {
	if d.split.opts.Open == nil || !path.IsAbs(d.split.opts.Path) {
		return nil, errors.New("no other files are read")
	}
	pkg := d.split.opts.Path + ".dwp"
	if !d.split.asked {
		d.split.asked = true
		var err error
		if d.split.pkg, err = d.sectionsOf(pkg); err != nil && !errors.Is(err, errNotThere) {
			return nil, err
		}
	}
	if d.split.pkg != nil {
		if unit, err := dwarfline.Packaged(d.split.pkg, d.split.order, s.ID); unit != nil || err != nil {
			return unit, err
		}
	}
	places := []string{path.Join(s.Dir, s.Name), path.Join(path.Dir(d.split.opts.Path), path.Base(s.Name))}
	if path.IsAbs(s.Name) {
		places[0] = s.Name
	}
	for _, place := range places {
		if !path.IsAbs(place) {
			continue
		}
		if sections, err := d.sectionsOf(place); !errors.Is(err, errNotThere) {
			return sections, err
		}
	}
	return nil, fmt.Errorf("there is no %s, none beside the program, and no %s", places[0], pkg)
}

var errNotThere = errors.New("no such file")

// sectionsOf reads the sections of a .dwo or .dwp file that dwarfline needs.
func (d *debugSections) sectionsOf(name string) (dwoSections, error) {
	file, size, err := d.split.opts.Open(name)
	if err != nil {
		return nil, errors.Join(errNotThere, err)
	}
	defer file.Close()
	image, err := elfimage.New(file, size)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	sections := dwoSections{}
	for _, section := range []string{
		".debug_info.dwo", ".debug_abbrev.dwo", ".debug_str.dwo", ".debug_str_offsets.dwo", ".debug_rnglists.dwo",
		".debug_loc.dwo", ".debug_loclists.dwo", ".debug_cu_index",
	} {
		b, err := image.Uncompressed(section, maxDebugBytes-d.total)
		if err != nil {
			return nil, fmt.Errorf("%s: read %s: %w", name, section, err)
		}
		d.total += uint64(len(b))
		sections[strings.TrimSuffix(section, ".dwo")] = b
	}
	return sections, nil
}
