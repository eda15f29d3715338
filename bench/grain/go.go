// Go: see grain.hpp.
package main

import (
	"sync"

	"sennit.example/bench/support/gobench"
)

const tasks = 100

func compute(steps int) uint64 {
	x := uint64(1)
	for ; steps != 0; steps-- {
		x = x*6364136223846793005 + uint64(steps)
	}
	return x
}

func main() {
	program := gobench.New("a goroutine for each task, a WaitGroup",
		gobench.Parameter{Name: "steps", Values: []int{100, 300, 1000, 3000, 10000, 30000}, QuickValues: []int{100, 3000}})
	for _, steps := range program.Values("steps") {
		expected := compute(steps)
		program.Measure("", gobench.Params{"steps": steps}, "task", tasks, func(count int) {
			for ; count > 0; count-- {
				var results [tasks]uint64
				var all sync.WaitGroup
				all.Add(tasks)
				for i := range results {
					go func() {
						results[i] = compute(steps)
						all.Done()
					}()
				}
				all.Wait()
				for _, result := range results {
					gobench.Require(result == expected, "a task was lost")
				}
			}
		})
	}
}
