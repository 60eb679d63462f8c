package compiled

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// forCompilers reports whether compilers read an environment variable.
func forCompilers(name string) bool {
	switch name {
	case "CC", "CXX", "CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH", "LIBRARY_PATH", "LD_RUN_PATH",
		"COMPILER_PATH", "GCC_EXEC_PREFIX", "SOURCE_DATE_EPOCH":
		return true
	}
	return strings.HasPrefix(name, "GO") || strings.HasPrefix(name, "CGO_") || strings.HasPrefix(name, "RUST")
}

// identify writes what distinguishes the tools and libraries of this machine from
// other versions. The only program that it runs is rustc, because the rustc on the
// PATH may be one that runs another one.
func identify(w io.Writer, tools []string) error {
	slices.Sort(tools)
	for _, tool := range slices.Compact(tools) {
		path, err := exec.LookPath(tool)
		if err == nil {
			path, err = filepath.EvalSymlinks(path)
		}
		switch {
		case err != nil && (tool == "as" || tool == "ld"):
			continue
		case err != nil:
			return &MissingError{Tool: tool}
		}
		stamp(w, path)
		if filepath.Base(tool) == "rustc" {
			version, err := exec.Command(tool, "--version", "--verbose").Output()
			if err != nil { // rustup's rustc, without a compiler for this user
				return &MissingError{Tool: tool}
			}
			fmt.Fprintf(w, "%s\n", version)
		}
	}
	// Installing another library or header changes the time of its directory.
	for _, pattern := range []string{"/usr/include", "/usr/lib", "/usr/lib/*-linux-*", "/usr/*-linux-*/include", "/usr/*-linux-*/lib"} {
		dirs, err := filepath.Glob(pattern)
		if err != nil {
			return err
		}
		for _, dir := range dirs {
			stamp(w, dir)
		}
	}
	if dir, err := os.UserConfigDir(); err == nil {
		stamp(w, filepath.Join(dir, "go", "env")) // written by "go env -w"
	}
	return nil
}

// stamp writes the path, size and modification time of a file, if it exists.
func stamp(w io.Writer, path string) {
	if info, err := os.Stat(path); err == nil {
		fmt.Fprintf(w, "%q %d %d\n", path, info.Size(), info.ModTime().UnixNano())
	}
}
