// Package cgroup finds control groups by the names people use, and the processes and threads in
// them (cgroups(7)).
package cgroup
