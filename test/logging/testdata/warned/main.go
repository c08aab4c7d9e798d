// Command main says that it is ready and ends on TERM.
package main

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	signalled := make(chan os.Signal, 1)
	signal.Notify(signalled, syscall.SIGTERM)
	fmt.Println("ready", os.Getpid())
	<-signalled
}
