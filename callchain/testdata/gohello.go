// A Go program of some size, for its function table.
package main

import "fmt"

func main() { fmt.Println("hello") }
