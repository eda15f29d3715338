// Go: start n goroutines that do nothing, then wait for all; see spawn-many.hpp.
package main

import (
	"sync"

	"sennit.example/bench/support/gobench"
)

func main() {
	program := gobench.New("go statement; a WaitGroup to join",
		gobench.Parameter{Name: "n", Values: []int{1_000, 100_000, 1_000_000}, QuickValues: []int{1_000, 10_000}})
	for _, n := range program.Values("n") {
		params := gobench.Params{"n": n}
		program.Measure("", params, "fiber", n, func(count int) {
			for ; count > 0; count-- {
				var all sync.WaitGroup
				all.Add(n)
				for i := 0; i < n; i++ {
					go all.Done()
				}
				all.Wait()
			}
		})
		program.ReportMemory("", params)
	}
}
