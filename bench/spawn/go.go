// Go: start a goroutine that does nothing and wait for it; see spawn.hpp.
package main

import (
	"sync"

	"sennit.example/bench/support/gobench"
)

func main() {
	program := gobench.New("go statement; a WaitGroup, or a channel, to join")
	program.Measure("WaitGroup", nil, "spawn", 1, func(count int) {
		var child sync.WaitGroup
		for ; count > 0; count-- {
			child.Add(1)
			go child.Done()
			child.Wait()
		}
	})
	program.Measure("channel", nil, "spawn", 1, func(count int) {
		done := make(chan struct{})
		for ; count > 0; count-- {
			go func() { done <- struct{}{} }()
			<-done
		}
	})
}
