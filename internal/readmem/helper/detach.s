// An assembly file in the package lets detach.go declare procPin without a body.
