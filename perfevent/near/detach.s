// This file lets detach.go declare a function of package runtime without a body.
