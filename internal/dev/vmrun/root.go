package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/ringtap/ringtap/internal/dev/vmrun/wire"
)

// root is the guest's file system in preparation. The keys are paths in the guest without the
// first slash.
type root struct {
	files map[string]string      // the host's file to copy
	texts map[string]string      // the content of other files
	links map[string]string      // the target of a symbolic link
	modes map[string]os.FileMode // of files and texts; 0o755 if missing
	dirs  []string               // directories to make even if they have no files
}

// directories that every guest has.
var directories = []string{"dev", "dev/pts", "etc", "mnt", "opt", "proc", "root", "run", "sbin", "sys", "tmp", "usr/bin", "usr/sbin", "var/run", "var/tmp", "work"}

// newRoot returns a file system for a kernel's guest, with a shell, basic files, the kernel's
// configuration, and the libraries that compiled programs load.
func newRoot(ctx context.Context, c *cache, k kernel, image string) (*root, error) {
	m, native := machines[k.arch], k.arch == runtime.GOARCH
	r := &root{files: map[string]string{}, texts: map[string]string{}, links: map[string]string{}, modes: map[string]os.FileMode{}, dirs: directories}
	shell, err := shells(ctx, c, k)
	if err != nil {
		return nil, err
	}
	r.files["bin/busybox"], r.files["bin/bash"] = shell.busybox, shell.bash
	r.links["bin/sh"] = "bash" // unlike other shells, busybox's runs its own commands without exec
	dirs := append(libraryDirs(m, native), shell.libraries)
	libraries, err := libraryClosure(dirs, compiledWith, []string{shell.bash, shell.busybox})
	if err != nil {
		return nil, err
	}
	for name, from := range libraries {
		if name != path.Base(m.loader) {
			r.files["lib/"+m.triple+"/"+name] = from
		}
	}
	loader, err := firstOf(dirs, path.Base(m.loader))
	if err != nil {
		return nil, fmt.Errorf("no libc for %s: %w; scripts/install-test-deps installs it", k.arch, err)
	}
	r.files[m.loader[1:]] = loader
	if m.compat != "" && native {
		if err := r.addCompat(m); err != nil {
			return nil, err
		}
	}
	// This is what ldd does for a program of the machine's own architecture.
	r.texts["bin/ldd"] = "#!/bin/sh\nLD_TRACE_LOADED_OBJECTS=1 exec " + m.loader + " \"$@\"\n"
	r.links["usr/lib"] = "../lib"
	// The cross compiler uses this path.
	r.links["usr/"+m.triple+"/lib"] = "/lib/" + m.triple
	r.texts["etc/passwd"] = "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/sh\n"
	r.texts["etc/group"] = "root:x:0:\nnogroup:x:65534:\n"
	r.texts["etc/hosts"] = "127.0.0.1 localhost\n"
	for _, name := range []string{"etc/passwd", "etc/group", "etc/hosts"} {
		r.modes[name] = 0o644
	}
	r.files["boot/config"] = filepath.Join(image, "config")
	// Tests compare with perf-tools, which are scripts for any architecture.
	scripts, err := filepath.Glob("/usr/sbin/*-perf")
	if err != nil {
		return nil, err
	}
	for _, script := range scripts {
		r.files[script[1:]] = script
	}
	if native {
		// perf-tools read trace_pipe with cat. busybox's cat uses splice(2), with which Linux
		// 6.12 loses what exceeds a page (tracing_splice_read_pipe in kernel/trace/trace.c).
		return r, r.addProgram("bin/cat", "/bin/cat", m, native)
	}
	return r, nil
}

// addCompat adds the libraries and the loader of 32-bit programs.
func (r *root) addCompat(m machine) error {
	dir := "/usr/lib32"
	loader, err := firstOf([]string{dir}, path.Base(m.compat))
	if err != nil {
		return fmt.Errorf("no libc for 32-bit programs: %w; scripts/install-test-deps installs it", err)
	}
	libraries, err := libraryClosure([]string{dir}, compiledWith, nil)
	if err != nil {
		return err
	}
	for name, from := range libraries {
		r.files["lib32/"+name] = from
	}
	r.files[m.compat[1:]] = loader
	r.links["usr/lib32"] = "../lib32"
	// Tests look for this file of libc's to find out whether gcc can link 32-bit programs.
	crt, err := firstOf([]string{dir}, "crt1.o")
	if err != nil {
		return fmt.Errorf("no libc for 32-bit programs: %w; scripts/install-test-deps installs it", err)
	}
	r.files["lib32/crt1.o"] = crt
	return nil
}

func firstOf(dirs []string, name string) (string, error) {
	for _, dir := range dirs {
		path := filepath.Join(dir, name)
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("%s is in none of %s", name, strings.Join(dirs, ", "))
}

// shell has the paths of busybox and bash, and the directory of bash's libraries ("" for the
// host's own).
type shell struct{ busybox, bash, libraries string }

// shells finds the shell on this machine, or fetches it for another architecture.
func shells(ctx context.Context, c *cache, k kernel) (shell, error) {
	if k.arch == runtime.GOARCH {
		busybox, err := exec.LookPath("busybox")
		if err != nil {
			return shell{}, needCommands("busybox")
		}
		bash, err := exec.LookPath("bash")
		return shell{busybox: busybox, bash: bash}, err
	}
	const suite = "bookworm"
	found := shell{}
	for _, p := range []struct{ pkg, file string }{
		{"busybox-static", "busybox"}, {"bash", "bash"}, {"libtinfo6", "libtinfo.so.6"},
	} {
		name := p.pkg + "-" + k.arch
		dir, err := c.get(ctx, name, func(ctx context.Context, work, to string) (string, error) {
			debs, version, err := fetch(ctx, c, name, work, suite, machines[k.arch].debian, func(n string) bool { return n == p.pkg })
			if err != nil {
				return version, err
			}
			return version, unpackOne(ctx, debs[0], p.file, filepath.Join(to, p.file))
		})
		if err != nil {
			return shell{}, err
		}
		switch p.file {
		case "busybox":
			found.busybox = filepath.Join(dir, p.file)
		case "bash":
			found.bash = filepath.Join(dir, p.file)
		default:
			found.libraries = dir
		}
	}
	return found, nil
}

// addModules adds the kernel's modules and returns their paths in the guest, in the order
// of loading.
func (r *root) addModules(image string) ([]string, error) {
	text, err := os.ReadFile(filepath.Join(image, "modules.order"))
	if err != nil {
		return nil, err
	}
	var paths []string
	for _, name := range strings.Fields(string(text)) {
		r.files["lib/modules/"+name+".ko"] = filepath.Join(image, name+".ko")
		paths = append(paths, "/lib/modules/"+name+".ko")
	}
	return paths, nil
}

// addBusybox adds a link to busybox for each of its commands.
func (r *root) addBusybox() error {
	// The host's busybox may be of another architecture than the guest's. The same version has
	// the same commands, and a missing command says so.
	busybox, err := exec.LookPath("busybox")
	if err != nil {
		return needCommands("busybox")
	}
	out, err := exec.Command(busybox, "--list").Output()
	if err != nil {
		return err
	}
	for _, name := range strings.Fields(string(out)) {
		to := "bin/" + name
		if r.files[to] == "" && r.links[to] == "" {
			r.links[to] = "busybox"
		}
	}
	return nil
}

// addModule adds the files of the repository at their own paths.
func (r *root) addModule(module string) error {
	cmd := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	cmd.Dir = module
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("git ls-files: %w", err)
	}
	for name := range strings.SplitSeq(string(out), "\x00") {
		from := filepath.Join(module, name)
		info, err := os.Lstat(from)
		if name == "" || err != nil || !info.Mode().IsRegular() {
			continue // a deleted file, or a link
		}
		r.files[from[1:]] = from
		r.modes[from[1:]] = info.Mode().Perm()
	}
	return nil
}

// addProgram adds a file or directory of the host and, for ELF files, the libraries that
// they load.
func (r *root) addProgram(to, from string, m machine, native bool) error {
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	if info.IsDir() {
		return filepath.WalkDir(from, func(p string, d os.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			relative, _ := filepath.Rel(from, p)
			return r.addProgram(path.Join(to, filepath.ToSlash(relative)), p, m, native)
		})
	}
	r.files[to], r.modes[to] = from, info.Mode().Perm()
	libraries, err := libraryClosure(libraryDirs(m, native), nil, []string{from})
	if err != nil {
		return nil // not an ELF file, but a script
	}
	for name, path := range libraries {
		if name != filepath.Base(m.loader) {
			r.files["lib/"+m.triple+"/"+name] = path
		}
	}
	return nil
}

// write writes the archive that the kernel unpacks. pages is how many pages its files take then.
func (r *root) write(file string, spec wire.Spec) (pages int64, err error) {
	text, err := json.Marshal(spec)
	if err != nil {
		return 0, err
	}
	r.texts[wire.SpecFile[1:]] = string(text)
	f, err := os.Create(file)
	if err != nil {
		return 0, err
	}
	w := bufio.NewWriterSize(f, 1<<20)
	a := &archive{w: w}
	made := map[string]bool{".": true}
	var directory func(name string)
	directory = func(name string) {
		if _, link := r.links[name]; made[name] || link {
			return
		}
		directory(path.Dir(name))
		made[name] = true
		a.directory(name)
	}
	for _, name := range r.dirs {
		directory(name)
	}
	a.add("dev/console", modeCharacter|0o600, 0, nil, 5, 1) // for the first process's output
	a.add("dev/null", modeCharacter|0o666, 0, nil, 1, 3)
	mode := func(name string) os.FileMode {
		if mode, ok := r.modes[name]; ok {
			return mode
		}
		return 0o755
	}
	for _, name := range sorted(r.links) {
		directory(path.Dir(name))
		a.add(name, modeLink|0o777, int64(len(r.links[name])), strings.NewReader(r.links[name]), 0, 0)
	}
	for _, name := range sorted(r.files) {
		directory(path.Dir(name))
		a.file(name, r.files[name], mode(name))
	}
	for _, name := range sorted(r.texts) {
		directory(path.Dir(name))
		a.add(name, modeRegular|uint32(mode(name)), int64(len(r.texts[name])), strings.NewReader(r.texts[name]), 0, 0)
	}
	return a.pages, errors.Join(a.close(), w.Flush(), f.Close())
}

func sorted(m map[string]string) []string {
	var names []string
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// addNodes adds the releases of Node that scripts/install-node has unpacked for another
// architecture, at the paths where the guest's tests look for Node.
func (r *root) addNodes(arch string) error {
	base, err := os.UserCacheDir()
	if err != nil {
		return err
	}
	found, err := filepath.Glob(filepath.Join(base, "ringtap/nodes-"+arch+"/*/bin/node"))
	for _, from := range found {
		release := filepath.Base(filepath.Dir(filepath.Dir(from)))
		r.files["root/.cache/ringtap/nodes/"+release+"/bin/node"] = from
	}
	return err
}

// addJavas adds the OpenJDKs that scripts/install-java has unpacked for another architecture. They have the
// same paths in the guest, because an OpenJDK contains the paths of its libraries. A link leads there from
// where the guest's tests look.
func (r *root) addJavas(arch string) error {
	base, err := os.UserCacheDir()
	if err != nil {
		return err
	}
	all := filepath.Join(base, "ringtap/javas-"+arch)
	if _, err := os.Stat(all); err != nil {
		return nil // none is unpacked
	}
	r.links["root/.cache/ringtap/javas"] = all
	return filepath.WalkDir(all, func(from string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
		case d.Type()&fs.ModeSymlink != 0:
			r.links[from[1:]], err = os.Readlink(from)
		case d.Type().IsRegular():
			r.files[from[1:]] = from
		}
		return err
	})
}
