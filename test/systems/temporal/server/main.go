// Command server is a Temporal server with its stores in memory (SQLite). It prints its address and a
// namespace.
package main

import (
	"fmt"

	"go.temporal.io/server/temporaltest"
)

func main() {
	server := temporaltest.NewServer()
	fmt.Printf("listens %s/%s\n", server.GetFrontendHostPort(), server.GetDefaultNamespace())
	select {}
}
