// Command kfake is a broker that speaks Kafka's protocol, on the port that it is given.
package main

import (
	"os"
	"strconv"

	"github.com/twmb/franz-go/pkg/kfake"

	"drainit/test/systems/workers"
)

func main() {
	port, err := strconv.Atoi(os.Args[1])
	workers.Must(err)
	_, err = kfake.NewCluster(kfake.NumBrokers(1), kfake.Ports(port), kfake.AllowAutoTopicCreation(),
		kfake.DefaultNumPartitions(1))
	workers.Must(err)
	select {}
}
