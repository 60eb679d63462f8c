package dwarfline

import "strings"

// path returns the path of a file in the unit's line table, or "" if the table does not have
// it.
func (x *Index) path(d *unitData, file uint32) string {
	t := d.table
	if p, ok := t.paths[file]; ok {
		return p
	}
	var p string
	if uint64(file) < uint64(len(t.files)) {
		p = x.fileName(d, &t.files[file])
	}
	p = p[:min(len(p), maxName)]
	if t.paths == nil {
		t.paths = make(map[uint32]string)
	}
	t.paths[file] = p
	return p
}

// fileNameBytes returns the name of a file as the table has it, not copied.
func (x *Index) fileNameBytes(d *unitData, f *fileEntry) []byte {
	// The offset size of the table may differ from that of its unit.
	u := *d.unit
	u.offsetSize = d.table.offsetSize
	return x.textBytes(&u, &d.root, f.name)
}

func (x *Index) fileName(d *unitData, f *fileEntry) string {
	name := string(x.fileNameBytes(d, f))
	if name == "" || strings.HasPrefix(name, "/") {
		return name
	}
	var dir string
	if uint64(f.dir) < uint64(len(d.table.dirs)) {
		dir = string(x.fileNameBytes(d, &d.table.dirs[f.dir]))
	}
	return join(d.root.dir, join(dir, name))
}

// join puts dir before a relative path. It does not clean the result: with symbolic links,
// a/../b is not b.
func join(dir, path string) string {
	if dir == "" || strings.HasPrefix(path, "/") {
		return path
	}
	return strings.TrimSuffix(dir, "/") + "/" + path
}
