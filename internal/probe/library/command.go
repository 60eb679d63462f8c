package library

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// usualPath is the list of command directories if PATH is not set.
const usualPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// maxEnviron bounds how much of an environment is read, in bytes.
const maxEnviron = 1 << 20

// findCommand returns the first executable file with that name on PATH, or nil.
func (v *view) findCommand(name string) (*found, error) {
	for _, dir := range v.commandDirs() {
		f, err := v.open(filepath.Join(dir, name))
		if err != nil {
			continue // like a shell, ignore whatever is wrong with it
		}
		if f.st.Mode&0o111 != 0 {
			return f, nil
		}
		f.close()
	}
	return nil, nil
}

// commandDirs returns the directories of PATH: the process's if the view has one, otherwise
// ours.
func (v *view) commandDirs() []string {
	list := os.Getenv("PATH")
	if v.pid != 0 {
		if theirs, ok := v.environ("PATH"); ok {
			list = theirs
		}
	}
	if list == "" {
		list = usualPath
	}
	var dirs []string
	for _, dir := range strings.Split(list, ":") {
		if filepath.IsAbs(dir) {
			dirs = append(dirs, dir)
			continue
		}
		// "" and "." are our current directory, which a process with another root may not see.
		if abs, err := filepath.Abs(dir); err == nil && v.root == "" && v.pid == 0 {
			dirs = append(dirs, abs)
		}
	}
	return dirs
}

// environ returns a variable of the process's environment as it was at exec.
func (v *view) environ(name string) (value string, ok bool) {
	f, err := os.Open(v.proc("environ"))
	if err != nil {
		return "", false
	}
	defer f.Close()
	text, _ := io.ReadAll(io.LimitReader(f, maxEnviron)) // as much as can be read
	for _, variable := range bytes.Split(text, []byte{0}) {
		if value, ok := bytes.CutPrefix(variable, []byte(name+"=")); ok {
			return string(value), true
		}
	}
	return "", false
}
