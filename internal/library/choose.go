package library

// named is an open file and the name under which it was found.
type named struct {
	*found
	name string
}

// choose returns the one file among those that answer a name, and closes the
// others: the only inode, else the only one that is called by its own soname, as
// a link for the linker or a file with a longer version is not.
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
	ambiguous := &AmbiguousError{Name: typed}
	for _, f := range files {
		ambiguous.Paths = append(ambiguous.Paths, f.path)
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

// ownNamed keeps the files that are named as they call themselves, all if there
// are none.
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
