// Package openfile opens regular files whose names come from others. It opens nothing
// that blocks, that has side effects when opened, or that lies outside of the directory
// where the name is resolved.
//
//	Regular   a name as we see it
//	Beneath   a name as a process sees it, whose root directory is another
package openfile
