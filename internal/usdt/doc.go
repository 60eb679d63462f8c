// Package usdt reads user-level statically defined tracing probes, the marks of
// SystemTap's <sys/sdt.h>, from ELF files.
package usdt
