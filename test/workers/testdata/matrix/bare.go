// Its job, without a handler.
package main

import (
	"fmt"
	"os"
	"strconv"
	"time"
)

func note(word string) {
	f, _ := os.OpenFile(os.Getenv("RECORD"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	fmt.Fprintln(f, word, time.Now().Unix())
}

func main() {
	note("begin")
	s, _ := strconv.ParseFloat(os.Getenv("JOB"), 64)
	time.Sleep(time.Duration(s * 1e9))
	note("done")
	time.Sleep(time.Hour)
}
