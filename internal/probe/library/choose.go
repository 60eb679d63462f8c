package library

// named is an open file and the name under which it was found.
type named struct {
	*found
	name string
}

// choose returns the one file among those that match a name, and closes the others. It is the
// only inode, or else the only file whose name is its own soname. Links for the linker and
// files with longer versions are not named so.
func choose(typed string, files []named) (*found, error) {
	files = distinct(files)
	if len(files) > 1 {
		files = ownNamed(files)
	}
	switch len(files) {
	case 0:
		return nil, nil
	case 1:
		return files[0].found, nil
	}
	ambiguous := &AmbiguousError{name: typed}
	for _, f := range files {
		ambiguous.paths = append(ambiguous.paths, f.path)
		f.close()
	}
	return nil, ambiguous
}

// distinct keeps the first file of each inode.
func distinct(files []named) []named {
	kept := files[:0]
next:
	for _, f := range files {
		for _, k := range kept {
			if sameFile(&f.st, &k.st) {
				f.close()
				continue next
			}
		}
		kept = append(kept, f)
	}
	return kept
}

// ownNamed keeps the files whose name is their own soname, or all if there are none.
func ownNamed(files []named) []named {
	var own, others []named
	for _, f := range files {
		if f.soname() == f.name {
			own = append(own, f)
		} else {
			others = append(others, f)
		}
	}
	if len(own) == 0 {
		return files
	}
	for _, f := range others {
		f.close()
	}
	return own
}
