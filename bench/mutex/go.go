// Go: sync.Mutex, uncontended with one worker, contended by two goroutines with two; see mutex.hpp.
package main

import (
	"sync"

	"sennit.example/bench/support/gobench"
)

// The mutex is found anew each time, as an object of which the compiler knows nothing.
var shared *sync.Mutex

func main() {
	program := gobench.New("sync.Mutex")
	shared = new(sync.Mutex)
	if program.Workers() == 1 {
		program.Measure("Mutex", gobench.Params{"fibers": 1}, "pair", 1, func(count int) {
			for ; count > 0; count-- {
				mutex := shared
				mutex.Lock()
				mutex.Unlock()
			}
		})
		return
	}
	const fibers = 2
	program.Measure("Mutex", gobench.Params{"fibers": fibers}, "pair", fibers, func(count int) {
		var all sync.WaitGroup
		locked := 0
		all.Add(fibers)
		for i := 0; i < fibers; i++ {
			go func() {
				for left := count; left > 0; left-- {
					shared.Lock()
					locked++
					shared.Unlock()
				}
				all.Done()
			}()
		}
		all.Wait()
		gobench.Require(locked == fibers*count, "the mutex let two in at once")
	})
}
