// Package annotate shows where in a function a recording's samples are: the function's instructions
// beside their source lines, each with its share of the function's samples, as perf-annotate(1) does.
//
//	recording → sink: counts by address        count.go
//	          → functions, one of them chosen  functions.go, choose.go
//	          → Listing: its instructions      listing.go, source.go
//	          → text                           text.go, blocks.go
//
// A sample counts where it was taken, at its own address; callers do not matter. Shares are of
// periods, as in perf. The code is read from the file that the recorded process had mapped, which
// package recording finds by its build id.
package annotate
