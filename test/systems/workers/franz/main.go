// Command franz is a worker of franz-go's; `franz add JOB...` adds jobs, and `franz list` prints those behind
// the offset that its group has committed.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"drainit/test/systems/workers"
)

var (
	queue = os.Getenv("QUEUE")
	seeds = kgo.SeedBrokers(os.Getenv("BROKER_URL"))
)

func main() {
	switch {
	case len(os.Args) == 1:
		work()
	case os.Args[1] == "add":
		add(os.Args[2:])
	default:
		list()
	}
}

func client(opts ...kgo.Opt) *kgo.Client {
	c, err := kgo.NewClient(append(opts, seeds, kgo.AllowAutoTopicCreation())...)
	workers.Must(err)
	return c
}

func work() {
	stop, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer cancel()
	c := client(kgo.ConsumeTopics(queue), kgo.ConsumerGroup(queue), kgo.DisableAutoCommit(),
		kgo.BlockRebalanceOnPoll())
	for stop.Err() == nil {
		for _, record := range c.PollRecords(stop, 1).Records() {
			workers.Must(workers.Run(context.Background(), string(record.Value)))
			workers.Must(c.CommitRecords(context.Background(), record))
		}
		c.AllowRebalance()
	}
	c.Close()
}

func add(jobs []string) {
	c := client(kgo.DefaultProduceTopic(queue))
	for _, job := range jobs {
		workers.Must(c.ProduceSync(context.Background(), kgo.StringRecord(job)).FirstErr())
	}
}

func list() {
	ctx := context.Background()
	admin := kadm.NewClient(client())
	committed, err := admin.FetchOffsets(ctx, queue)
	workers.Must(err)
	ends, err := admin.ListEndOffsets(ctx, queue)
	workers.Must(err)
	end, _ := ends.Lookup(queue, 0)
	from := int64(0)
	if offset, ok := committed.Lookup(queue, 0); ok {
		from = max(from, offset.At)
	}
	c := client(kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{queue: {0: kgo.NewOffset().At(from)}}))
	for from < end.Offset {
		for _, record := range c.PollFetches(ctx).Records() {
			workers.Print(string(record.Value), "")
			from = record.Offset + 1
		}
	}
}
