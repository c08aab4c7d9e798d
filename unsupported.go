//go:build !linux

package main

const _ int = "drainit needs Linux (/proc, pidfds, PID namespaces): set GOOS=linux"

func main() {}
