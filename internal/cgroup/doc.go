// Package cgroup finds control groups by what people call them, and the processes and
// threads in them (cgroups(7)).
package cgroup
