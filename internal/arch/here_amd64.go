package arch

// Here is the machine that this program runs on.
var Here = AMD64
