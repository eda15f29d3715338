// Go: goroutines that wait for a channel to be closed; see parked.hpp.
package main

import (
	"runtime"
	"sync"
	"sync/atomic"

	"sennit.example/bench/support/gobench"
)

func main() {
	program := gobench.New("a channel that is closed",
		gobench.Parameter{Name: "n", Values: []int{1_000, 10_000, 100_000, 1_000_000}, QuickValues: []int{1_000, 10_000}})
	program.BeginWithOne("", func() { park(1) })
	for _, n := range program.Values("n") {
		params := gobench.Params{"n": n}
		program.Measure("", params, "fiber", n, func(count int) {
			for ; count > 0; count-- {
				park(n)
			}
		})
		program.ReportMemoryBesideOne("", params, "fiber", n)
	}
}

func park(n int) {
	gate := make(chan struct{})
	var begun atomic.Int64
	var all sync.WaitGroup
	all.Add(n)
	for i := 0; i < n; i++ {
		go func() {
			begun.Add(1)
			<-gate
			all.Done()
		}()
	}
	for begun.Load() != int64(n) {
		runtime.Gosched()
	}
	close(gate)
	all.Wait()
}
