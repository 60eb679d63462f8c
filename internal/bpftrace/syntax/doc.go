// Package syntax parses programs in both dialects of bpftrace's language, 0.17's and today's, into
// a tree with positions. It knows nothing about types, kernels or the meaning of names.
package syntax
