package main

import (
	"strings"
	"testing"
)

func TestAnOptionThatTheKernelHasNotTakenIsNamed(t *testing.T) {
	whole := "CONFIG_EXTRA=y\n"
	for line := range strings.Lines(nobpfConfig) {
		if name, off := strings.CutSuffix(strings.TrimSpace(line), "=n"); off {
			whole += "# " + name + " is not set\n"
		} else {
			whole += line
		}
	}
	if err := checkConfig(whole); err != nil {
		t.Errorf("of all options: %v", err)
	}
	for from, to := range map[string]string{
		"CONFIG_KPROBES=y\n":                "# CONFIG_KPROBES is not set\n",
		"# CONFIG_BPF_SYSCALL is not set\n": "CONFIG_BPF_SYSCALL=y\n",
	} {
		text := strings.Replace(whole, from, to, 1)
		name, _, _ := strings.Cut(strings.Trim(strings.TrimPrefix(from, "# "), "\n"), " ")
		name, _, _ = strings.Cut(name, "=")
		if err := checkConfig(text); text == whole || err == nil || !strings.Contains(err.Error(), name+"=") {
			t.Errorf("with %q: %v", to, err)
		}
	}
}
