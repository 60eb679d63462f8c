// Package openfile opens regular files that others have named, and only those:
// nothing that it is led to can block it, have effects on being opened, or lie
// outside of the directory that the name is to be seen from.
//
//	Regular   a name as we see it
//	Beneath   a name as a process sees it, whose root directory is another
package openfile
