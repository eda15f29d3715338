// Go: two goroutines, each of which has a kernel thread to itself; see crosscore.hpp. Without that the second one
// would run where the first one waits, as in condvar.
package main

import (
	"runtime"
	"sync"

	"sennit.example/bench/support/gobench"
)

// Takes messages, and answers all but the last, if that has none.
func end(in <-chan uint64, out chan<- uint64, messages int, last bool) (taken uint64) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for left := messages; left > 0; left-- {
		taken = <-in
		if left != 1 || !last {
			out <- taken + 1
		}
	}
	return taken
}

func main() {
	program := gobench.New("LockOSThread, a channel of capacity 1 each way")
	if program.Workers() < 2 {
		program.Unsupported("", nil, "a message between two workers needs two")
		return
	}
	program.Measure("chan", nil, "message", 2, func(count int) {
		in, out := make(chan uint64, 1), make(chan uint64, 1)
		var taken uint64
		var both sync.WaitGroup
		both.Add(2)
		go func() {
			end(in, out, count, false)
			both.Done()
		}()
		go func() {
			taken = end(out, in, count, true)
			both.Done()
		}()
		in <- 1
		both.Wait()
		gobench.Require(taken == uint64(2*count), "a message was lost")
	})
}
