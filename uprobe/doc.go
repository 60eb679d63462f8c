// Package uprobe places user probes: it turns a definition as perf-tools' uprobe
// takes it into instructions of files, and those into perf events.
package uprobe
