package main

import (
	"archive/tar"
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"

	"github.com/ulikunitz/xz"
)

// wantedModules are modules that the guest needs to talk to the host, and some that
// tests use. A kernel may have one built in, or not at all.
var wantedModules = []string{"virtio_pci", "virtio_console", "overlay", "loop", "dummy"}

// image returns the directory of the kernel in the cache. It has the files vmlinuz, config,
// the modules as NAME.ko, and modules.order, which lists them in the order of loading.
func (k kernel) image(ctx context.Context, c *cache) (string, error) {
	if k.built {
		return k.buildImage(ctx, c)
	}
	return c.get(ctx, k.cached(), func(ctx context.Context, work, to string) (string, error) {
		debs, version, err := fetch(ctx, c, k.cached(), work, k.suite, machines[k.arch].debian, k.isPackage, k.parts...)
		if err != nil {
			return version, err
		}
		modules := map[string]string{}
		take := func(name string, r io.Reader) (err error) {
			base := path.Base(name)
			switch {
			case strings.HasPrefix(name, "boot/vmlinuz-"), base == "vmlinuz":
				return save(filepath.Join(to, "vmlinuz"), r)
			case strings.HasPrefix(name, "boot/config-"), base == "config":
				return save(filepath.Join(to, "config"), r)
			case strings.HasSuffix(base, ".ko"), strings.HasSuffix(base, ".ko.xz"):
				if base != strings.TrimSuffix(base, ".xz") {
					if r, err = xz.NewReader(r); err != nil {
						return err
					}
				}
				module := moduleName(strings.TrimSuffix(base, ".xz"))
				modules[module] = filepath.Join(work, module+".ko")
				return save(modules[module], r)
			}
			return nil
		}
		for _, deb := range debs {
			if err := unpack(ctx, deb, take); err != nil {
				return "", err
			}
		}
		return version, saveModules(modules, to)
	})
}

// fetch downloads the newest package that matches, and for each part the package whose name has
// the part in place of "binary". It returns their files, and the package's name and version. If the
// cache has this version under name, the error is errHave.
func fetch(ctx context.Context, c *cache, name, work, suite, arch string, matches func(string) bool, parts ...string) (debs []string, version string, err error) {
	sources, err := mirrors("/")
	if err != nil {
		return nil, "", err
	}
	from, err := mirrorFor(sources, suite)
	if err != nil {
		return nil, "", err
	}
	dir := filepath.Join(work, "apt")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, "", err
	}
	a, err := newApt(ctx, dir, from, arch)
	if err != nil {
		return nil, "", err
	}
	pkg, version, err := a.newest(ctx, matches)
	if err != nil {
		return nil, "", fmt.Errorf("%s: %w", suite, err)
	}
	version = pkg + "_" + strings.ReplaceAll(version, ":", "_")
	if c.has(name, version) {
		return nil, version, errHave
	}
	names := []string{pkg}
	for _, part := range parts {
		names = append(names, strings.Replace(pkg, "-binary-", "-"+part+"-", 1))
	}
	for _, name := range names {
		deb, err := a.download(ctx, name)
		if err != nil {
			return nil, "", err
		}
		debs = append(debs, deb)
	}
	return debs, version, nil
}

// unpack calls each with every regular file of a package.
func unpack(ctx context.Context, deb string, each func(name string, r io.Reader) error) error {
	cmd := exec.CommandContext(ctx, "dpkg-deb", "--fsys-tarfile", deb)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	defer cmd.Wait()
	defer out.Close()
	files := tar.NewReader(out)
	for {
		header, err := files.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read %s: %w", deb, err)
		}
		if header.Typeflag != tar.TypeReg {
			continue
		}
		if err := each(path.Clean(header.Name), files); err != nil {
			return fmt.Errorf("unpack %s of %s: %w", header.Name, deb, err)
		}
	}
}

func save(path string, r io.Reader) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, r)
	return errors.Join(err, file.Close())
}

// moduleName returns the name by which other modules refer to the module in a file.
func moduleName(file string) string {
	return strings.ReplaceAll(strings.TrimSuffix(file, ".ko"), "-", "_")
}

// saveModules moves the wanted modules, and the modules that they depend on, to the directory to.
func saveModules(modules map[string]string, to string) error {
	var order []string
	seen := map[string]bool{}
	var add func(name string) error
	add = func(name string) error {
		from, ok := modules[name]
		if !ok || seen[name] {
			return nil
		}
		seen[name] = true
		depends, err := moduleDepends(from)
		if err != nil {
			return err
		}
		for _, d := range depends {
			if err := add(moduleName(d)); err != nil {
				return err
			}
		}
		order = append(order, name)
		return os.Rename(from, filepath.Join(to, name+".ko"))
	}
	for _, name := range wantedModules {
		if err := add(name); err != nil {
			return fmt.Errorf("module %s: %w", name, err)
		}
	}
	return os.WriteFile(filepath.Join(to, "modules.order"), []byte(strings.Join(order, "\n")), 0o644)
}

// moduleDepends returns the names of the modules that must be loaded before the module in file.
func moduleDepends(file string) ([]string, error) {
	f, err := elf.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	section := f.Section(".modinfo")
	if section == nil {
		return nil, errors.New("no .modinfo")
	}
	data, err := section.Data()
	if err != nil {
		return nil, err
	}
	for entry := range strings.SplitSeq(string(data), "\x00") {
		if names, ok := strings.CutPrefix(entry, "depends="); ok && names != "" {
			return strings.Split(names, ","), nil
		}
	}
	return nil, nil
}

// unpackOne saves a file of a package as to. The file's base name is base, or base followed by
// a version.
func unpackOne(ctx context.Context, deb, base, to string) error {
	found := false
	err := unpack(ctx, deb, func(name string, r io.Reader) error {
		if path.Base(name) != base && !strings.HasPrefix(path.Base(name), base+".") || found {
			return nil
		}
		found = true
		return save(to, r)
	})
	if err == nil && !found {
		err = fmt.Errorf("%s has no %s", deb, base)
	}
	return err
}
