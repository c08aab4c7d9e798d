// Command server is the MongoDB of Agenda's workers: FerretDB, which speaks its protocol, on the port that it
// is given.
package main

import (
	"context"
	"os"

	"github.com/FerretDB/FerretDB/ferretdb"
)

func main() {
	dir, err := os.MkdirTemp("", "ferretdb") // below the test's own
	if err != nil {
		panic(err)
	}
	f, err := ferretdb.New(&ferretdb.Config{
		Listener:  ferretdb.ListenerConfig{TCP: "127.0.0.1:" + os.Args[1]},
		Handler:   "sqlite",
		SQLiteURL: "file:" + dir + "/",
	})
	if err == nil {
		err = f.Run(context.Background())
	}
	panic(err)
}
