package main

// #include <unistd.h>
// extern void waitsForC(void);
// static void wait_in_c(void) { for (;;) pause(); }
// static void call_back(void) { waitsForC(); }
import "C"

func init() { extra = append(extra, waitsInC, waitsInCallback) }

//go:noinline
func waitsInC() { parked.Done(); C.wait_in_c() }

//go:noinline
func waitsInCallback() { C.call_back() }

//export waitsForC
func waitsForC() { parked.Done(); <-make(chan int) }
