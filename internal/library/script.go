package library

import (
	"bytes"
	"path/filepath"
	"strings"
)

// script returns a *ScriptError if the file is one that execve(2) hands to an
// interpreter.
func (f *found) script() error {
	var line [256]byte // BINPRM_BUF_SIZE, as much of it as the kernel reads
	n, _ := f.file.ReadAt(line[:], 0)
	text, ok := bytes.CutPrefix(line[:n], []byte("#!"))
	if !ok {
		return nil
	}
	text, _, _ = bytes.Cut(text, []byte("\n"))
	return &ScriptError{Path: f.path, Interpreter: interpreter(string(text))}
}

// interpreter returns the program that a "#!" line names, behind env(1) the one
// that it starts.
func interpreter(line string) string {
	words := strings.Fields(line)
	if len(words) == 0 {
		return "an interpreter"
	}
	if filepath.Base(words[0]) == "env" {
		for _, word := range words[1:] {
			if word[0] != '-' && !strings.Contains(word, "=") {
				return word
			}
		}
	}
	return words[0]
}
