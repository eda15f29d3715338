// Go: messages through an unbuffered and a buffered channel; see channel.hpp.
package main

import (
	"sync"

	"sennit.example/bench/support/gobench"
)

type message8 [1]uint64
type message64 [8]uint64

func run[message message8 | message64](capacity, count int) {
	channel := make(chan message, capacity)
	var given, taken uint64
	var all sync.WaitGroup
	all.Add(2)
	go func() {
		var next message
		for i := uint64(0); i < uint64(count); i++ {
			next[0] = i
			channel <- next
			given += i
		}
		all.Done()
	}()
	go func() {
		for left := count; left > 0; left-- {
			received := <-channel
			taken += received[0]
		}
		all.Done()
	}()
	all.Wait()
	gobench.Require(given == taken, "the channel lost a message")
}

func main() {
	program := gobench.New("chan",
		gobench.Parameter{Name: "capacity", Values: []int{0, 64}, QuickValues: []int{0, 64}},
		gobench.Parameter{Name: "bytes", Values: []int{8, 64}, QuickValues: []int{8, 64}})
	runs := map[int]func(capacity, count int){8: run[message8], 64: run[message64]}
	for _, capacity := range program.Values("capacity") {
		for _, bytes := range program.Values("bytes") {
			params := gobench.Params{"capacity": capacity, "bytes": bytes}
			run, known := runs[bytes]
			if !known {
				program.Unsupported("chan", params, "messages are of 8 or 64 bytes")
				continue
			}
			program.Measure("chan", params, "message", 1, func(count int) { run(capacity, count) })
		}
	}
}
