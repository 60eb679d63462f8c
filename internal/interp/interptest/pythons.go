package interptest

import (
	"os"
	"os/exec"
	"path/filepath"
)

// Pythons are the paths of the CPythons that are installed: those of pyenv, those that
// scripts/install-python has unpacked, and the system's.
func Pythons() []string {
	home, _ := os.UserHomeDir()
	found, _ := filepath.Glob(filepath.Join(home, ".pyenv/versions/3.*/bin/python3"))
	if cache, err := os.UserCacheDir(); err == nil {
		unpacked, _ := filepath.Glob(filepath.Join(cache, "ringtap/pythons/3.*/bin/python3"))
		found = append(found, unpacked...)
	}
	if path, err := exec.LookPath("/usr/bin/python3"); err == nil {
		found = append(found, path)
	}
	return found
}
