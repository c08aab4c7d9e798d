//go:build race

package harness

func init() { Raced = true }
