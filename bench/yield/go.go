// Go: goroutines that do nothing but yield; see yield.hpp. Eight different functions take turns.
package main

import (
	"runtime"
	"sync"

	"sennit.example/bench/support/gobench"
)

func yield0(n int) {
	for ; n > 0; n-- {
		runtime.Gosched()
	}
}
func yield1(n int) {
	for ; n > 0; n-- {
		runtime.Gosched()
	}
}
func yield2(n int) {
	for ; n > 0; n-- {
		runtime.Gosched()
	}
}
func yield3(n int) {
	for ; n > 0; n-- {
		runtime.Gosched()
	}
}
func yield4(n int) {
	for ; n > 0; n-- {
		runtime.Gosched()
	}
}
func yield5(n int) {
	for ; n > 0; n-- {
		runtime.Gosched()
	}
}
func yield6(n int) {
	for ; n > 0; n-- {
		runtime.Gosched()
	}
}
func yield7(n int) {
	for ; n > 0; n-- {
		runtime.Gosched()
	}
}

// The work of goroutine i is done i%8 calls deep.
func atDepth(depth int, work func(int), n int) {
	if depth == 0 {
		work(n)
	} else {
		atDepth(depth-1, work, n)
	}
	runtime.KeepAlive(work)
}

func main() {
	program := gobench.New("runtime.Gosched", gobench.Parameter{Name: "fibers", Values: []int{2, 100}, QuickValues: []int{2, 100}})
	functions := []func(int){yield0, yield1, yield2, yield3, yield4, yield5, yield6, yield7}
	for _, fibers := range program.Values("fibers") {
		program.Measure("Gosched", gobench.Params{"fibers": fibers}, "yield", fibers, func(count int) {
			var all sync.WaitGroup
			all.Add(fibers)
			for i := 0; i < fibers; i++ {
				i := i
				go func() {
					atDepth(i%8, functions[i%len(functions)], count)
					all.Done()
				}()
			}
			all.Wait()
		})
	}
}
