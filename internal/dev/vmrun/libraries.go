package main

import (
	"debug/elf"
	"fmt"
	"os"
	"path/filepath"
)

// compiledWith are the libraries that programs compiled by tests load.
var compiledWith = []string{"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1", "libgcc_s.so.1", "libstdc++.so.6", "libcrypto.so.3"}

// libraryDirs returns the directories in which the host has libraries of the architecture. native
// is true if it is the host's own.
func libraryDirs(m machine, native bool) []string {
	if native {
		return []string{"/lib/" + m.triple, "/usr/lib/" + m.triple, "/lib64", "/lib"}
	}
	return []string{"/usr/" + m.triple + "/lib"}
}

// libraryClosure finds the libraries called names, and all libraries that they and the programs
// load. It returns their paths on the host, by name.
func libraryClosure(dirs, names, programs []string) (map[string]string, error) {
	found := map[string]string{}
	var add func(name string) error
	needed := func(path string) error {
		f, err := elf.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		names, err := f.ImportedLibraries()
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		for _, name := range names {
			if err := add(name); err != nil {
				return err
			}
		}
		return nil
	}
	add = func(name string) error {
		if _, ok := found[name]; ok {
			return nil
		}
		for _, dir := range dirs {
			path := filepath.Join(dir, name)
			if _, err := os.Stat(path); err == nil {
				found[name] = path
				return needed(path)
			}
		}
		return nil // the program that needs it will say so when it runs
	}
	for _, name := range names {
		if err := add(name); err != nil {
			return nil, err
		}
	}
	for _, program := range programs {
		if err := needed(program); err != nil {
			return nil, err
		}
	}
	return found, nil
}
