package library

import (
	"bytes"
	"path/filepath"
	"strings"
)

// script returns a *ScriptError if execve(2) would pass the file to an interpreter.
func (f *found) script() error {
	var line [256]byte // BINPRM_BUF_SIZE, which is how much the kernel reads
	n, _ := f.file.ReadAt(line[:], 0)
	text, ok := bytes.CutPrefix(line[:n], []byte("#!"))
	if !ok {
		return nil
	}
	text, _, _ = bytes.Cut(text, []byte("\n"))
	return &ScriptError{path: f.path, Interpreter: interpreter(string(text))}
}

// interpreter returns the program named on a "#!" line. After env(1) it is the program that env
// starts.
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
