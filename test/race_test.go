//go:build race

package test

func init() { raced = true }
