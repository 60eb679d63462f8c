package main

import (
	"bytes"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/dev/vmrun/wire"
)

// tools runs compilers and other tools on the host for a guest, which has none. Host and
// guest have the shared directory under the same name. Tools for another architecture
// have its prefix.
type tools struct {
	shared string
	arch   string
	native bool
}

// toolNames are the commands that the host may run for a guest.
var toolNames = []string{"gcc", "g++", "cc", "as", "ld", "objcopy", "objdump", "strip", "readelf", "nm", "addr2line", "xz", "go", "rustc", "javac"}

// available returns the names of the tools that the host has for the guest.
func (t *tools) available() []string {
	var names []string
	for _, name := range toolNames {
		if _, err := exec.LookPath(t.command(name)); err == nil {
			names = append(names, name)
		}
	}
	return names
}

// command returns the name of the tool on the host.
func (t *tools) command(name string) string {
	switch {
	case t.native || name == "xz" || name == "go" || name == "javac":
		return name
	case name == "rustc":
		return "rustc for " + t.arch // does not exist: Debian has rustc's library only for the host's architecture
	case name == "cc":
		name = "gcc"
	}
	return machines[t.arch].triple + "-" + name
}

// compilerDir returns the compiler's own directory, without the first slash, or "" if there is
// no compiler. The compiler refers to libraries through it (DIR/../../../libc.so.6).
func (t *tools) compilerDir() string {
	out, err := exec.Command(t.command("gcc"), "-print-libgcc-file-name").Output()
	if err != nil {
		return ""
	}
	// In the guest /usr/lib is a link to /lib.
	dir := strings.TrimPrefix(filepath.Dir(strings.TrimSpace(string(out))), "/")
	return strings.TrimPrefix(dir, "usr/")
}

// serve answers requests until the guest ends.
func (t *tools) serve(listener net.Listener) {
	conn, err := listener.Accept()
	if err != nil {
		return
	}
	defer conn.Close()
	for {
		var request wire.ToolRequest
		if err := gob.NewDecoder(oneByte{conn}).Decode(&request); err != nil {
			return
		}
		if err := gob.NewEncoder(conn).Encode(t.run(request)); err != nil {
			return
		}
	}
}

// run runs the tool. If the host cannot run it, the answer says so as if the tool had failed.
func (t *tools) run(request wire.ToolRequest) wire.ToolAnswer {
	answer := wire.ToolAnswer{ID: request.ID}
	if err := t.try(request, &answer); err != nil {
		answer.Code = 125
		answer.Stderr = append(answer.Stderr, ("on the host: " + err.Error() + "\n")...)
	}
	return answer
}

func (t *tools) try(request wire.ToolRequest, answer *wire.ToolAnswer) error {
	if len(request.Args) == 0 || !slices.Contains(toolNames, request.Args[0]) {
		return fmt.Errorf("%q is none of the tools", request.Args)
	}
	for _, f := range request.Files {
		if !within(t.shared, f.Path) {
			return fmt.Errorf("%s is outside of %s", f.Path, t.shared)
		}
		if err := os.MkdirAll(filepath.Dir(f.Path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(f.Path, f.Data, fs.FileMode(f.Mode)); err != nil {
			return err
		}
	}
	if within(t.shared, request.Dir) {
		if err := os.MkdirAll(request.Dir, 0o755); err != nil {
			return err
		}
	}
	for _, arg := range request.Args { // make the directories of outputs
		if i := strings.Index(arg, t.shared); i >= 0 {
			if err := os.MkdirAll(filepath.Dir(arg[i:]), 0o755); err != nil {
				return err
			}
		}
	}
	before, err := t.stamps()
	if err != nil {
		return err
	}
	cmd := exec.Command(t.command(request.Args[0]), request.Args[1:]...)
	cmd.Dir = request.Dir
	cmd.Env = t.environment(request.Env)
	cmd.Stdin = bytes.NewReader(request.Stdin)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err = cmd.Run()
	answer.Stdout, answer.Stderr = stdout.Bytes(), stderr.Bytes()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		answer.Code = exit.ExitCode()
	} else if err != nil {
		return err
	}
	after, err := t.stamps()
	if err != nil {
		return err
	}
	for path, stamp := range after {
		if before[path] == stamp {
			continue
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		answer.Files = append(answer.Files, wire.File{Path: path, Mode: uint32(stamp.mode), Data: data})
	}
	return nil
}

// stamp has the properties of a file by which try detects that the tool changed it.
type stamp struct {
	inode   uint64
	changed time.Time
	size    int64
	mode    fs.FileMode
}

func (t *tools) stamps() (map[string]stamp, error) {
	all := map[string]stamp{}
	err := filepath.WalkDir(t.shared, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		var s unix.Stat_t
		if err := unix.Lstat(path, &s); err != nil {
			return err
		}
		all[path] = stamp{s.Ino, time.Unix(s.Ctim.Unix()), s.Size, fs.FileMode(s.Mode).Perm()}
		return nil
	})
	return all, err
}

// environment returns the host's environment with the variables for compilers that the guest's tests set.
func (t *tools) environment(guest []string) []string {
	env := append(os.Environ(), "GOARCH="+t.arch)
	for _, entry := range guest {
		name, _, _ := strings.Cut(entry, "=")
		switch name {
		case "GOARCH", "GOFLAGS", "GOWORK", "CGO_ENABLED", "GO111MODULE", "SOURCE_DATE_EPOCH", "LC_ALL":
			env = append(env, entry)
		}
	}
	if !t.native {
		env = append(env, "CC="+t.command("gcc"), "CXX="+t.command("g++"))
	}
	return env
}

func within(dir, path string) bool {
	relative, err := filepath.Rel(dir, path)
	return err == nil && relative != ".." && !strings.HasPrefix(relative, "../")
}

// oneByte is an io.ByteReader. A gob.Decoder therefore does not buffer, and reads no more than
// one message from the stream.
type oneByte struct{ io.Reader }

func (r oneByte) ReadByte() (byte, error) {
	var b [1]byte
	_, err := io.ReadFull(r.Reader, b[:])
	return b[0], err
}
