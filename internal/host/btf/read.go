package btf

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// maxFile is the largest file read, in bytes. Kernels have 5 to 15 MB.
const maxFile = 256 << 20

// Dir is the directory with the kernel's type information, in the file vmlinux, and that of
// each module.
const Dir = "/sys/kernel/btf"

// ErrNone is returned when the running kernel has no type information.
var ErrNone = errors.New("the kernel was built without type information (CONFIG_DEBUG_INFO_BTF)")

// Read reads the kernel's type information from the file vmlinux in dir, which is Dir except in
// tests. The error wraps ErrNone if there is no such file. Otherwise it may wrap
// fs.ErrPermission or ErrNotBTF.
func Read(dir string) (*Spec, error) {
	s, err := readFile(filepath.Join(dir, "vmlinux"), nil)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%w: %w", ErrNone, err)
	}
	return s, err
}

// ReadModule reads the type information of a loaded module, which extends the kernel's. The
// error wraps fs.ErrNotExist if the module has none or is not loaded.
func ReadModule(dir, module string, kernel *Spec) (*Spec, error) {
	if module != filepath.Base(module) || strings.HasPrefix(module, ".") {
		return nil, fmt.Errorf("module %q: %w", module, os.ErrNotExist)
	}
	return readFile(filepath.Join(dir, module), kernel)
}

func readFile(path string, base *Spec) (*Spec, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() > maxFile {
		return nil, fmt.Errorf("%s: %d bytes are too many for type information", path, info.Size())
	}
	var data strings.Builder
	data.Grow(int(info.Size()))
	// sysfs returns one page per read, so a larger buffer would not save calls.
	buf := make([]byte, 1<<12)
	if _, err := io.CopyBuffer(&data, struct{ io.Reader }{io.LimitReader(f, maxFile)}, buf); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	s, err := Parse(data.String(), base)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return s, nil
}
