package main

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// nobpfConfig is merged into the kernel's own tinyconfig.
//
//go:embed nobpf.config
var nobpfConfig string

// buildImage builds the kernel from Debian's source package, unless the cache has an image
// for this configuration. It returns the image's directory.
func (k kernel) buildImage(ctx context.Context, c *cache) (string, error) {
	hash := sha256.Sum256([]byte(nobpfConfig))
	name := fmt.Sprintf("%s-%x", k.name, hash[:6])
	image, err := c.get(ctx, name, func(ctx context.Context, work, to string) (string, error) {
		if err := needCommands("make", "gcc", "flex", "bison", "bc", "perl", "xz", "tar"); err != nil {
			return "", err
		}
		debs, version, err := fetch(ctx, c, name, work, k.suite, machines[k.arch].debian, k.isPackage)
		if err != nil {
			return version, err
		}
		tarball := filepath.Join(work, "source.tar.xz")
		err = unpack(ctx, debs[0], func(name string, r io.Reader) error {
			if strings.HasPrefix(path.Base(name), "linux-source-") && strings.HasSuffix(name, ".tar.xz") {
				return save(tarball, r)
			}
			return nil
		})
		if err != nil {
			return "", err
		}
		fmt.Fprintf(c.log, "vm: %s: building %s, about eight minutes on two cores\n", k.name, version)
		start := time.Now()
		if err := buildKernel(ctx, work, tarball, to); err != nil {
			return "", err
		}
		fmt.Fprintf(c.log, "vm: %s: built in %s\n", k.name, time.Since(start).Round(time.Second))
		return version, nil
	})
	if err != nil {
		return "", err
	}
	// Images of other configurations are not needed any more.
	others, _ := filepath.Glob(filepath.Join(c.dir, k.name+"-*=*"))
	for _, other := range others {
		if !strings.HasPrefix(filepath.Base(other), name+"=") {
			os.RemoveAll(other)
		}
	}
	return image, nil
}

func buildKernel(ctx context.Context, work, tarball, to string) error {
	source := filepath.Join(work, "source")
	fragment := filepath.Join(work, "fragment")
	if err := errors.Join(os.Mkdir(source, 0o755), os.WriteFile(fragment, []byte(nobpfConfig), 0o644)); err != nil {
		return err
	}
	run := func(args ...string) error {
		cmd := exec.CommandContext(ctx, "nice", append([]string{"-n", "10"}, args...)...)
		cmd.Dir = source
		cmd.SysProcAttr = &unix.SysProcAttr{Setpgid: true} // so that Cancel also kills make's compilers
		cmd.Cancel = func() error { return unix.Kill(-cmd.Process.Pid, unix.SIGKILL) }
		cmd.Env = append(cmd.Environ(), "KBUILD_BUILD_USER=ringtap", "KBUILD_BUILD_HOST=ringtap")
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w\n%s", strings.Join(args, " "), err, tail(out, 4000))
		}
		return nil
	}
	for _, args := range [][]string{
		{"tar", "-xJf", tarball, "--strip-components=1"},
		{"make", "-s", "tinyconfig"},
		{"scripts/kconfig/merge_config.sh", "-m", ".config", fragment},
		{"make", "-s", "olddefconfig"},
	} {
		if err := run(args...); err != nil {
			return err
		}
	}
	config, err := os.ReadFile(filepath.Join(source, ".config"))
	if err != nil {
		return err
	}
	if err := checkConfig(string(config)); err != nil {
		return err
	}
	if err := run("make", "-s", fmt.Sprintf("-j%d", runtime.NumCPU()), "bzImage"); err != nil {
		return err
	}
	return errors.Join(
		os.WriteFile(filepath.Join(to, "config"), config, 0o644),
		os.WriteFile(filepath.Join(to, "modules.order"), nil, 0o644),
		os.Rename(filepath.Join(source, "arch/x86/boot/bzImage"), filepath.Join(to, "vmlinuz")))
}

// checkConfig returns an error unless the kernel's configuration has all options of
// nobpfConfig. Kconfig silently drops an option whose dependencies are missing.
func checkConfig(config string) error {
	have := map[string]bool{}
	for line := range strings.Lines(config) {
		have[strings.TrimSpace(line)] = true
	}
	var missing []string
	for line := range strings.Lines(nobpfConfig) {
		line = strings.TrimSpace(line)
		name, isOff := strings.CutSuffix(line, "=n")
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case isOff && have[name+"=y"], !isOff && !have[line]:
			missing = append(missing, line)
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("the kernel's configuration has not taken: %s", strings.Join(missing, ", "))
	}
	return nil
}

func needCommands(names ...string) error {
	for _, name := range names {
		if _, err := exec.LookPath(name); err != nil {
			return fmt.Errorf("%s is not installed; scripts/install-test-deps installs it", name)
		}
	}
	return nil
}

func tail(text []byte, n int) []byte {
	return text[max(0, len(text)-n):]
}
