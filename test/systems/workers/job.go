// Package workers has what the Go workers share: their job, and the record of what happened to it.
package workers

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"
)

// Record appends a line to the file that RECORD names.
func Record(what, job string) {
	file, err := os.OpenFile(os.Getenv("RECORD"), os.O_WRONLY|os.O_APPEND, 0)
	Must(err)
	_, err = fmt.Fprintln(file, what, job)
	Must(err)
	Must(file.Close())
}

// Run does a job, such as j1:3, which takes 3 s. It gives the job up when the context ends.
func Run(ctx context.Context, job string) error {
	name, seconds, _ := strings.Cut(job, ":")
	takes, err := time.ParseDuration(seconds + "s")
	Must(err)
	Record("begin", name)
	select {
	case <-time.After(takes):
		Record("done", name)
		return nil
	case <-ctx.Done():
		Record("back", name)
		return ctx.Err()
	}
}

// Print prints the name of a job that is left, and what the broker says of it.
func Print(job, state string) {
	name, _, _ := strings.Cut(job, ":")
	fmt.Println(name, state)
}

// Limit is how long the worker may take to end its jobs.
func Limit() time.Duration {
	limit, err := time.ParseDuration(os.Getenv("LIMIT") + "s")
	Must(err)
	return limit
}

// Must ends the program by an error.
func Must(err error) {
	if err != nil {
		panic(err)
	}
}
