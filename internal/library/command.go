package library

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// usualPath is where commands are if PATH is not set.
const usualPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// maxEnviron is how many bytes of an environment are looked at.
const maxEnviron = 1 << 20

// findCommand returns the first executable file of that name on PATH, nil if
// there is none.
func (v *view) findCommand(name string) (*found, error) {
	for _, dir := range v.commandDirs() {
		f, err := v.open(filepath.Join(dir, name))
		if err != nil {
			continue // as a shell does, whatever is wrong with it
		}
		if f.st.Mode&0o111 != 0 {
			return f, nil
		}
		f.close()
	}
	return nil, nil
}

// commandDirs are the directories of PATH: of the process if the view is one's,
// else ours.
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
		// "" and "." are where we are, which a process with another root may not see.
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
	text, _ := io.ReadAll(io.LimitReader(f, maxEnviron)) // as much as there is
	for _, variable := range bytes.Split(text, []byte{0}) {
		if value, ok := bytes.CutPrefix(variable, []byte(name+"=")); ok {
			return string(value), true
		}
	}
	return "", false
}
