package main

import (
	"encoding/gob"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/dev/vmrun/wire"
)

// remoteTool lets the host run the tool and returns its exit code. The tool uses the
// same paths on the host. The repository is the same there, and files of the shared
// directory are sent to the host and back.
func remoteTool(spec wire.Spec, name string, args []string) (int, error) {
	dir, err := os.Getwd()
	if err != nil {
		return 0, err
	}
	request := wire.ToolRequest{ID: uint64(os.Getpid()), Args: append([]string{name}, args...), Dir: dir, Env: os.Environ()}
	if slices.Contains(args, "-") {
		if request.Stdin, err = io.ReadAll(os.Stdin); err != nil {
			return 0, err
		}
	}
	if request.Files, err = filesFor(spec.Shared, dir, args); err != nil {
		return 0, err
	}
	answer, err := ask(request)
	if err != nil {
		return 0, err
	}
	for _, f := range answer.Files {
		if err := os.MkdirAll(filepath.Dir(f.Path), 0o755); err != nil {
			return 0, err
		}
		os.Remove(f.Path) // as linkers do, so that a running program keeps its file
		if err := os.WriteFile(f.Path, f.Data, fs.FileMode(f.Mode)); err != nil {
			return 0, err
		}
	}
	os.Stdout.Write(answer.Stdout)
	os.Stderr.Write(answer.Stderr)
	return answer.Code, nil
}

// ask sends the request and returns the answer. It holds a lock, because the port can have only one
// user at a time.
func ask(request wire.ToolRequest) (answer wire.ToolAnswer, err error) {
	lock, err := os.OpenFile("/run/tools.lock", os.O_CREATE|os.O_RDWR, 0o666)
	if err != nil {
		return answer, err
	}
	defer lock.Close()
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX); err != nil {
		return answer, err
	}
	port, err := openPort(wire.ToolsPort)
	if err != nil {
		return answer, err
	}
	defer port.Close()
	if err := gob.NewEncoder(port).Encode(request); err != nil {
		return answer, err
	}
	if err := gob.NewDecoder(port).Decode(&answer); err != nil {
		return answer, err
	}
	if answer.ID != request.ID {
		return answer, fmt.Errorf("the host answered process %d instead", answer.ID)
	}
	return answer, nil
}

// filesFor returns the files of the shared directory that the tool may read:
// all in its working directory and in the directories that its arguments name.
func filesFor(shared, dir string, args []string) ([]wire.File, error) {
	dirs := []string{dir}
	for _, arg := range args {
		for part := range strings.FieldsFuncSeq(arg, func(r rune) bool { return strings.ContainsRune("=,: ", r) }) {
			if i := strings.Index(part, shared+"/"); i >= 0 {
				dirs = append(dirs, filepath.Dir(part[i:]))
			}
		}
	}
	slices.Sort(dirs)
	var files []wire.File
	for _, dir := range slices.Compact(dirs) {
		if !within(shared, dir) {
			continue
		}
		entries, err := os.ReadDir(dir)
		if err != nil {
			continue // a file, or it does not exist yet
		}
		for _, e := range entries {
			info, err := e.Info()
			if err != nil || !info.Mode().IsRegular() {
				continue
			}
			path := filepath.Join(dir, e.Name())
			data, err := os.ReadFile(path)
			if err != nil {
				return nil, err
			}
			files = append(files, wire.File{Path: path, Mode: uint32(info.Mode().Perm()), Data: data})
		}
	}
	return files, nil
}

func within(dir, path string) bool {
	relative, err := filepath.Rel(dir, path)
	return err == nil && relative != ".." && !strings.HasPrefix(relative, "../")
}
