// Package syntax reads programs of bpftrace's language, of both dialects (0.17's and today's),
// to a tree with positions. It knows nothing of types, kernels or what names mean.
package syntax
