// Command app is app.js in Go, for `go run`, with TICK and COMPUTE.
package main

import (
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"
)

func record(words string) {
	file, err := os.OpenFile(os.Getenv("RECORD"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		panic(err)
	}
	defer file.Close()
	fmt.Fprintf(file, "%s %.3f\n", words, float64(time.Now().UnixMicro())/1e6)
}

func main() {
	signalled := make(chan os.Signal, 16)
	signal.Notify(signalled, syscall.SIGTERM, syscall.SIGINT)
	seconds, err := strconv.ParseFloat(os.Getenv("JOB"), 64)
	if err != nil {
		panic(err)
	}
	if ms, err := strconv.Atoi(os.Getenv("TICK")); err == nil {
		go func() {
			for range time.Tick(time.Duration(ms) * time.Millisecond) {
			}
		}()
	}
	if os.Getenv("COMPUTE") != "" {
		go func() {
			for {
			}
		}()
	}
	record("begin")
	end := time.After(time.Duration(seconds * float64(time.Second)))
	for ended, asked := false, false; !ended || !asked; {
		select {
		case <-signalled:
			record("signalled a signal")
			asked = true
		case <-end:
			record("done")
			ended = true
		}
	}
}
